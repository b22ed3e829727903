from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import AnyText, Document, UtcDateTime, choice
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, NAME
from service.store.states import Announcement, DeliveryState, WebhookKind

_PENDING = text("state = 'pending'")


class WebhookRow(Rows):
    """Where findings are told."""

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME), unique=True)
    kind: Mapped[WebhookKind] = mapped_column(choice(WebhookKind, name="kind"))
    target: Mapped[str] = mapped_column(Text)
    """A URL or a mail address. A URL's path may be a secret: it is shown to nobody."""
    secret: Mapped[str | None] = mapped_column(Text)
    """What messages are signed with, so it is kept as it is; shown once."""
    events: Mapped[tuple[Announcement, ...]] = mapped_column(Document(tuple[Announcement, ...]))
    policy: Mapped[str | None] = mapped_column(String(NAME))
    """Only findings of this schedule; NULL: of all."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    created_by: Mapped[str] = mapped_column(String(NAME))
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Since a message could not be delivered in days."""


class DeliveryRow(Rows):
    """One message to one place; written in the transaction of what it tells."""

    __tablename__ = "deliveries"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id"))
    finding_id: Mapped[str | None] = mapped_column(ForeignKey("findings.id"))
    announcement: Mapped[Announcement] = mapped_column(choice(Announcement, name="announcement"))
    state: Mapped[DeliveryState] = mapped_column(choice(DeliveryState, name="state"))
    body: Mapped[str | None] = mapped_column(Text)
    """What is sent, the same at each attempt; NULL before the first."""
    num_attempts: Mapped[int]
    next_attempt_at: Mapped[datetime] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    error: Mapped[str | None] = mapped_column(AnyText)
    """Of the last attempt, in our words: what the other side answers is not kept."""

    __table_args__ = (
        Index(None, "webhook_id", "id"),
        Index(
            "ix_deliveries_pending",
            "next_attempt_at",
            sqlite_where=_PENDING,
            postgresql_where=_PENDING,
        ),
    )
