"""Webhooks: where findings are told, and what became of each message. A secret is shown once."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from service.errors import ServiceError
from service.pages import forms
from service.pages.forms import Fields, FieldsDep
from service.pages.house import House, HouseDep
from service.pages.page import go_to, page
from service.pages.route import PageRoute
from service.pages.visitor import Admin, Reader
from service.reports import new_webhook
from service.reports import schedules as schedule_reports
from service.reports import webhooks as reports
from service.reports.new_webhook import USUAL, WebhookRequest
from service.reports.webhooks import CreatedWebhookReport, WebhookReport
from service.store import deliveries, webhooks
from service.store.states import Announcement, DeliveryState, WebhookKind

router = APIRouter(route_class=PageRoute)

OFFERED: Final = (Announcement.SUSPECT, Announcement.CONFIRMED, Announcement.RECOVERED)
PAGE_SIZE: Final = 30


class Which(BaseModel):
    """Which messages."""

    model_config = ConfigDict(extra="forbid")

    cursor: str | None = Field(default=None, max_length=500)


@router.get("/webhooks")
def webhooks_page(request: Request, house: HouseDep, visitor: Reader) -> Response:
    """Every place, and a form for one more."""
    del visitor
    return _shown(request, house, {f"event.{one}": "on" for one in USUAL})


@router.post("/webhooks")
def create(request: Request, house: HouseDep, visitor: Admin, fields: FieldsDep) -> Response:
    """Tell findings there from now on, and show the secret that signs messages."""
    values = {
        "name": fields.get("name", ""),
        "kind": fields.get("kind", WebhookKind.WEBHOOK),
        "target": fields.get("target", ""),
        "events": [one for one in OFFERED if fields.get(f"event.{one}")],
        "policy": fields.get("policy") or None,
    }
    try:
        asked = forms.parse(WebhookRequest, values)
        made = new_webhook.create(
            house.sessions, house.settings, asked, created_by=visitor.caller.name
        )
    except ServiceError as error:
        return _shown(request, house, fields, error=error)
    return _shown(request, house, {f"event.{one}": "on" for one in USUAL}, made=made)


@router.get("/webhooks/{webhook}")
def webhook_page(
    request: Request,
    webhook: str,
    house: HouseDep,
    visitor: Reader,
    which: Annotated[Which, Query()],
) -> Response:
    """One place, and what became of the messages to it, newest first."""
    del visitor
    with house.sessions.reading() as session:
        one = WebhookReport.of(webhooks.find(session, webhook))
        sent = reports.deliveries(session, one.id, limit=PAGE_SIZE, cursor=which.cursor)
    is_waiting = which.cursor is None and any(
        it.state is DeliveryState.PENDING and it.num_attempts == 0 for it in sent.items
    )
    return page(request, "webhook.html", one=one, sent=sent, is_waiting=is_waiting)


@router.post("/webhooks/{webhook}/test")
def test(webhook: str, house: HouseDep, visitor: Admin, fields: FieldsDep) -> Response:
    """Send a message that says nothing, also to a place that is disabled."""
    del visitor, fields
    with house.sessions.writing() as session:
        known = webhooks.find(session, webhook)
        deliveries.queue_test(session, known)
    return go_to(f"/webhooks/{known.id}")


@router.post("/webhooks/{webhook}/delete")
def delete(webhook: str, house: HouseDep, visitor: Admin, fields: FieldsDep) -> Response:
    """Forget it, and the messages to it."""
    del visitor, fields
    with house.sessions.writing() as session:
        webhooks.remove(session, webhook)
    return go_to("/webhooks")


def _shown(
    request: Request,
    house: House,
    fields: Fields,
    *,
    made: CreatedWebhookReport | None = None,
    error: ServiceError | None = None,
) -> Response:
    with house.sessions.reading() as session:
        found = [
            (one, reports.deliveries(session, one.id, limit=1).items)
            for one in reports.list_all(session)
        ]
        schedules = [one.name for one in schedule_reports.list_all(session)]
    empty = {"name": "", "kind": WebhookKind.WEBHOOK, "target": "", "policy": ""}
    return page(
        request,
        "webhooks.html",
        status=200 if error is None else error.status,
        found=found,
        schedules=schedules,
        kinds=list(WebhookKind),
        offered=OFFERED,
        values=empty | dict(fields),
        made=made,
        error=error,
    )
