"""Where findings are told: registered, listed, tried out, forgotten."""

from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from service.api.auth import Admin, Reader
from service.api.examples.findings import WEBHOOKS
from service.api.paging import Page, PageParameters
from service.api.route import ApiRoute, Responses
from service.api.state import ServiceDep
from service.reports import new_webhook
from service.reports import webhooks as reports
from service.reports.new_webhook import WebhookRequest
from service.reports.webhooks import CreatedWebhookReport, DeliveryReport, WebhookReport
from service.store import deliveries, webhooks

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=ApiRoute)

TAKEN: Responses = {409: {"description": "The name is taken."}}


@router.post("", status_code=201, responses=TAKEN)
def create_webhook(
    request: Annotated[WebhookRequest, Body(openapi_examples=WEBHOOKS)],
    response: Response,
    service: ServiceDep,
    caller: Admin,
) -> CreatedWebhookReport:
    """Tell findings there from now on. The secret that signs messages is shown this once.

    A URL whose host leads to an internal address is refused; one whose host cannot be resolved is
    taken, with a warning.
    """
    report = new_webhook.create(service.sessions, service.settings, request, created_by=caller.name)
    response.headers["Location"] = f"/v1/webhooks/{report.id}"
    return report


@router.get("")
def list_webhooks(service: ServiceDep, caller: Reader) -> Page[WebhookReport]:
    """Every place, by name."""
    del caller
    with service.sessions.reading() as session:
        found = reports.list_all(session)
    return Page(items=found, next_cursor=None)


@router.get("/{webhook}")
def get_webhook(webhook: str, service: ServiceDep, caller: Reader) -> WebhookReport:
    """One place, by id or name."""
    del caller
    with service.sessions.reading() as session:
        return WebhookReport.of(webhooks.find(session, webhook))


@router.delete("/{webhook}", status_code=204)
def delete_webhook(webhook: str, service: ServiceDep, caller: Admin) -> None:
    """Forget a place, and the messages to it."""
    del caller
    with service.sessions.writing() as session:
        webhooks.remove(session, webhook)


@router.post("/{webhook}/test", status_code=202)
def test_webhook(webhook: str, service: ServiceDep, caller: Admin) -> DeliveryReport:
    """Send a message that says nothing, also to a place that is disabled."""
    del caller
    with service.sessions.writing() as session:
        known = webhooks.find(session, webhook)
        return DeliveryReport.of(deliveries.queue_test(session, known))


@router.get("/{webhook}/deliveries")
def list_deliveries(
    webhook: str,
    which: Annotated[PageParameters, Query()],
    service: ServiceDep,
    caller: Reader,
) -> Page[DeliveryReport]:
    """Messages to a place and what became of them, newest first."""
    del caller
    with service.sessions.reading() as session:
        found = reports.deliveries(session, webhook, limit=which.limit, cursor=which.cursor)
    return Page.of(found)
