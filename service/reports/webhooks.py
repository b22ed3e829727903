"""Where findings are told, without the secrets that lead there."""

from datetime import datetime
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field
from sqlalchemy.orm import Session

from service.store import deliveries as stored
from service.store import webhooks
from service.store.deliveries import Delivery
from service.store.pages import Page
from service.store.states import Announcement, DeliveryState, WebhookKind
from service.store.webhooks import Webhook
from workers.contract.frozen import Frozen

HIDDEN = "/…"


class WebhookReport(Frozen):
    """One place."""

    id: str
    name: str
    kind: WebhookKind
    target: str = Field(description="Of a URL only the host: its path may be a secret.")
    events: tuple[Announcement, ...]
    policy: str | None = Field(description="Only findings of this schedule; null: of all.")
    created_at: datetime
    created_by: str
    disabled_at: datetime | None = Field(
        description="Since no attempt of days at a message succeeded; a test that arrives ends it."
    )

    @classmethod
    def of(cls, webhook: Webhook) -> Self:
        """Publish what the row tells, but for secrets."""
        return cls(
            id=webhook.id,
            name=webhook.name,
            kind=webhook.kind,
            target=_shown(webhook),
            events=webhook.events,
            policy=webhook.policy,
            created_at=webhook.created_at,
            created_by=webhook.created_by,
            disabled_at=webhook.disabled_at,
        )


class CreatedWebhookReport(WebhookReport):
    """A new place, and the only time that its secret is shown."""

    secret: str | None = Field(
        description="What messages are signed with, as Standard Webhooks has it; null where not."
    )
    warning: str = Field(description="What keeps messages from arriving for now; empty if nothing.")


class DeliveryReport(Frozen):
    """One message to one place."""

    id: str = Field(description="Its webhook-id.")
    finding_id: str | None
    announcement: Announcement
    state: DeliveryState
    num_attempts: int
    next_attempt_at: datetime | None = Field(description="null once it is over.")
    created_at: datetime
    finished_at: datetime | None
    error: str | None = Field(description="Of the last attempt. What was answered is not kept.")

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        """Publish what the row tells."""
        is_over = delivery.state is not DeliveryState.PENDING
        return cls(
            id=delivery.id,
            finding_id=delivery.finding_id,
            announcement=delivery.announcement,
            state=delivery.state,
            num_attempts=delivery.num_attempts,
            next_attempt_at=None if is_over else delivery.next_attempt_at,
            created_at=delivery.created_at,
            finished_at=delivery.finished_at,
            error=delivery.error,
        )


def created(webhook: Webhook, *, warning: str) -> CreatedWebhookReport:
    """Report a new one with its secret."""
    shown = dict(WebhookReport.of(webhook))
    return CreatedWebhookReport(**shown, secret=webhook.secret, warning=warning)


def list_all(session: Session) -> list[WebhookReport]:
    """Every place, by name."""
    return [WebhookReport.of(one) for one in webhooks.list_all(session)]


def deliveries(
    session: Session, name: str, *, limit: int, cursor: str | None = None
) -> Page[DeliveryReport]:
    """Newest first. NotFoundError if there is no such place."""
    webhook = webhooks.find(session, name)
    found = stored.page(session, webhook.id, limit=limit, cursor=cursor)
    return Page(tuple(DeliveryReport.of(one) for one in found.items), found.next_cursor)


def _shown(webhook: Webhook) -> str:
    if webhook.kind is WebhookKind.EMAIL:
        return webhook.target
    parts = urlsplit(webhook.target)
    return f"{parts.scheme}://{parts.netloc}{HIDDEN}"
