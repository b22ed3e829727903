"""Where findings are told: registered, listed, tried out, forgotten."""

import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from fastapi import APIRouter, Body, Query, Response
from pydantic import Field, StringConstraints, model_validator

from service.analysis.schedules.spec import Name
from service.api.auth import Admin, Reader
from service.api.examples import WEBHOOKS
from service.api.paging import Page, PageParameters
from service.api.route import ApiRoute, Responses
from service.api.state import Service, ServiceDep
from service.errors import FieldError, InvalidRequestError
from service.reports import webhooks as reports
from service.reports.webhooks import CreatedWebhookReport, DeliveryReport, WebhookReport
from service.store import deliveries, webhooks
from service.store.states import Announcement, WebhookKind
from workers.contract.frozen import Frozen, Label

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=ApiRoute)

TAKEN: Responses = {409: {"description": "The name is taken."}}
LARGEST_TARGET = 2000
MAIL_ADDRESS = re.compile(r"[^@\s<>,;:\"\\]{1,64}@[^@\s<>,;:\"\\]{1,190}")
USUAL = (Announcement.CONFIRMED, Announcement.RECOVERED)

Target = Annotated[
    str,
    StringConstraints(min_length=3, max_length=LARGEST_TARGET, pattern=r"^[\x21-\x7e]+$"),
    Field(description="A URL, https unless it is internal; a mail address for `email`."),
]


class WebhookRequest(Frozen):
    """A place, and what it wants to know."""

    name: Name
    kind: WebhookKind = WebhookKind.WEBHOOK
    target: Target
    events: Annotated[tuple[Announcement, ...], Field(min_length=1, max_length=4)] = Field(
        default=USUAL, description="Of findings: when they are suspect, confirmed, recovered."
    )
    policy: Label | None = Field(
        default=None, description="Only findings of this schedule; without, of all."
    )

    @model_validator(mode="after")
    def _target_fits_the_kind(self) -> Self:
        if self.kind is WebhookKind.EMAIL:
            if not MAIL_ADDRESS.fullmatch(self.target):
                raise ValueError("the target of an email is one address, name@host")
            return self
        try:
            parts = urlsplit(self.target)
            is_whole = bool(parts.hostname) and parts.port != 0
        except ValueError:
            raise ValueError("the target is not a URL: its host or port cannot be read") from None
        if parts.scheme not in {"https", "http"} or not is_whole:
            raise ValueError("the target is a URL that begins with https:// and names a host")
        if parts.username is not None or parts.fragment:
            raise ValueError("the target has no user, password or fragment in it")
        return self


@router.post("", status_code=201, responses=TAKEN)
def create_webhook(
    request: Annotated[WebhookRequest, Body(openapi_examples=WEBHOOKS)],
    response: Response,
    service: ServiceDep,
    caller: Admin,
) -> CreatedWebhookReport:
    """Tell findings there from now on. The secret that signs messages is shown this once."""
    _refuse_what_cannot_be_sent(service, request)
    with service.sessions.writing() as session:
        webhook = webhooks.create(
            session,
            request.name,
            kind=request.kind,
            target=request.target,
            events=request.events,
            policy=request.policy,
            created_by=caller.name,
        )
    response.headers["Location"] = f"/v1/webhooks/{webhook.id}"
    return reports.created(webhook)


@router.get("")
def list_webhooks(service: ServiceDep, caller: Reader) -> Page[WebhookReport]:
    """Every place, by name."""
    del caller
    with service.sessions.reading() as session:
        found = webhooks.list_all(session)
    return Page(items=[WebhookReport.of(one) for one in found], next_cursor=None)


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


def _refuse_what_cannot_be_sent(service: Service, request: WebhookRequest) -> None:
    if request.kind is WebhookKind.EMAIL and not service.settings.smtp_url.get_secret_value():
        detail = "no mail server is set; TPSWEEP_SMTP_URL names one"
        errors = (FieldError(pointer="/kind", detail=detail),)
        raise InvalidRequestError(f"/kind: {detail}", errors=errors)
