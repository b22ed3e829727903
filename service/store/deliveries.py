"""Messages: written with what they tell, taken by one sender at a time, tried again for days."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import exists, insert, not_, select, update
from sqlalchemy.orm import Session, aliased

from service.store import webhooks
from service.store.clock import db_now, db_time
from service.store.ids import new_id
from service.store.models.webhook import DeliveryRow, WebhookRow
from service.store.pages import Page, cut, decode_cursor
from service.store.states import Announcement, DeliveryState
from service.store.webhooks import Webhook

RETRY_AFTER: Final = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600)
)
"""After the first, second … attempt that failed; then it is given up."""
SENDER_MAY_TAKE = timedelta(minutes=1)
"""A message whose sender does not say what became of it is sent again after so long."""

_OLDER = aliased(DeliveryRow, name="older")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message as its row tells it."""

    id: str
    webhook_id: str
    finding_id: str | None
    announcement: Announcement
    state: DeliveryState
    body: str | None
    num_attempts: int
    next_attempt_at: datetime
    created_at: datetime
    finished_at: datetime | None
    error: str | None


def announce(session: Session, finding_id: str, announcement: Announcement, *, policy: str) -> None:
    """Queue a message to each place that wants to know."""
    for webhook in webhooks.list_all(session):
        is_theirs = webhook.policy in (None, policy)
        if is_theirs and announcement in webhook.events and webhook.disabled_at is None:
            _queue(session, webhook.id, announcement, finding_id=finding_id)


def take_back(session: Session, finding_id: str) -> None:
    """Queue a message to each place that was told, or still will be, that it is confirmed."""
    told = select(DeliveryRow.webhook_id).where(
        DeliveryRow.finding_id == finding_id,
        DeliveryRow.announcement == Announcement.CONFIRMED,
        DeliveryRow.state != DeliveryState.FAILED,
    )
    webhook_ids = set(session.scalars(told))
    for webhook in webhooks.list_all(session):
        if webhook.id in webhook_ids and webhook.disabled_at is None:
            _queue(session, webhook.id, Announcement.WITHDRAWN, finding_id=finding_id)


def queue_test(session: Session, webhook: Webhook) -> Delivery:
    """Queue a message that says nothing, also to a place that is disabled."""
    return find(session, _queue(session, webhook.id, Announcement.TEST, finding_id=None))


def find(session: Session, delivery_id: str) -> Delivery:
    """One that is known."""
    chosen = select(DeliveryRow).where(DeliveryRow.id == delivery_id)
    row = session.scalars(chosen, execution_options={"populate_existing": True}).one()
    return _delivery(row)


def take(session: Session, *, besides: Collection[str] = ()) -> Delivery | None:
    """Begin an attempt at the message that waits longest; None where none is due.

    Messages to the webhooks with the ids `besides` are left alone, and so is one about a finding
    while the place waits for an older one about it: what is told last has to be how it stands.
    """
    older = exists(
        select(1).where(
            _OLDER.webhook_id == DeliveryRow.webhook_id,
            _OLDER.finding_id == DeliveryRow.finding_id,
            _OLDER.state == DeliveryState.PENDING,
            _OLDER.id < DeliveryRow.id,
        )
    )
    chosen = (
        select(DeliveryRow.id)
        .where(
            DeliveryRow.state == DeliveryState.PENDING,
            DeliveryRow.next_attempt_at <= db_now(session),
            DeliveryRow.webhook_id.not_in(besides),
            not_(older),
        )
        .order_by(DeliveryRow.next_attempt_at, DeliveryRow.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    delivery_id = session.scalar(chosen)
    if delivery_id is None:
        return None
    begun: dict[str, object] = {
        "num_attempts": DeliveryRow.num_attempts + 1,
        "next_attempt_at": db_time(session) + SENDER_MAY_TAKE,
    }
    _change(session, delivery_id, begun)
    return find(session, delivery_id)


def keep_body(session: Session, delivery_id: str, body: str) -> None:
    """What is sent, at this attempt and later ones."""
    _change(session, delivery_id, {"body": body})


def settle(session: Session, delivery: Delivery, *, error: str | None) -> DeliveryState:
    """Write what became of an attempt; one that another sender has begun since is left to that.

    A place to which a message could not be delivered in all attempts is disabled; one that takes
    a message is not, or no longer.
    """
    if find(session, delivery.id).num_attempts != delivery.num_attempts:
        return DeliveryState.PENDING
    now = db_time(session)
    if error is None:
        done = {"state": DeliveryState.DELIVERED, "finished_at": now, "error": None}
        _change(session, delivery.id, done)
        _disable(session, delivery.webhook_id, None)
        return DeliveryState.DELIVERED
    if delivery.num_attempts > len(RETRY_AFTER):
        failed = {"state": DeliveryState.FAILED, "finished_at": now, "error": error}
        _change(session, delivery.id, failed)
        _disable(session, delivery.webhook_id, now)
        return DeliveryState.FAILED
    later = now + RETRY_AFTER[delivery.num_attempts - 1]
    _change(session, delivery.id, {"next_attempt_at": later, "error": error})
    return DeliveryState.PENDING


def page(
    session: Session, webhook_id: str, *, limit: int, cursor: str | None = None
) -> Page[Delivery]:
    """Newest first."""
    filters = ("deliveries", webhook_id)
    chosen = (
        select(DeliveryRow)
        .where(DeliveryRow.webhook_id == webhook_id)
        .order_by(DeliveryRow.id.desc())
    )
    if cursor is not None:
        (last,) = decode_cursor(cursor, filters=filters, types=(str,))
        chosen = chosen.where(DeliveryRow.id < last)
    found = [_delivery(row) for row in session.scalars(chosen.limit(limit + 1))]
    return cut(found, limit=limit, key=lambda one: (one.id,), filters=filters)


def _queue(
    session: Session, webhook_id: str, announcement: Announcement, *, finding_id: str | None
) -> str:
    delivery_id, now = new_id(), db_time(session)
    session.execute(
        insert(DeliveryRow).values(
            id=delivery_id,
            webhook_id=webhook_id,
            finding_id=finding_id,
            announcement=announcement,
            state=DeliveryState.PENDING,
            num_attempts=0,
            next_attempt_at=now,
            created_at=now,
        )
    )
    return delivery_id


def _change(session: Session, delivery_id: str, values: dict[str, object]) -> None:
    session.execute(
        update(DeliveryRow).where(DeliveryRow.id == delivery_id).values(values),
        execution_options={"synchronize_session": False},
    )


def _disable(session: Session, webhook_id: str, at: datetime | None) -> None:
    session.execute(
        update(WebhookRow).where(WebhookRow.id == webhook_id).values(disabled_at=at),
        execution_options={"synchronize_session": False},
    )


def _delivery(row: DeliveryRow) -> Delivery:
    return Delivery(
        id=row.id,
        webhook_id=row.webhook_id,
        finding_id=row.finding_id,
        announcement=row.announcement,
        state=row.state,
        body=row.body,
        num_attempts=row.num_attempts,
        next_attempt_at=row.next_attempt_at,
        created_at=row.created_at,
        finished_at=row.finished_at,
        error=row.error,
    )
