"""Where findings are told: kept, found, forgotten."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.errors import ConflictError
from service.store.clock import db_now
from service.store.ids import new_id
from service.store.models.webhook import DeliveryRow, WebhookRow
from service.store.names import find_row
from service.store.states import Announcement, WebhookKind

SECRET_PREFIX = "whsec_"  # noqa: S105 - what such secrets begin with
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Webhook:
    """One place as its row tells it."""

    id: str
    name: str
    kind: WebhookKind
    target: str = field(repr=False)
    secret: str | None = field(repr=False)
    events: tuple[Announcement, ...]
    policy: str | None
    created_at: datetime
    created_by: str
    disabled_at: datetime | None


def new_secret() -> str:
    """Make one as Standard Webhooks writes them."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def create(
    session: Session,
    name: str,
    *,
    kind: WebhookKind,
    target: str,
    events: Sequence[Announcement],
    policy: str | None,
    created_by: str,
) -> Webhook:
    """Keep a place, with a secret where messages are signed. ConflictError for a taken name."""
    webhook_id = new_id()
    values = {
        "id": webhook_id,
        "name": name,
        "kind": kind,
        "target": target,
        "secret": new_secret() if kind is WebhookKind.WEBHOOK else None,
        "events": tuple(events),
        "policy": policy,
        "created_at": db_now(session),
        "created_by": created_by,
    }
    try:
        with session.begin_nested():
            session.execute(insert(WebhookRow).values(values))
    except IntegrityError:
        raise ConflictError(f"there is a webhook {name!r}; take another name") from None
    return find(session, webhook_id)


def find(session: Session, name: str) -> Webhook:
    """By id or name. NotFoundError if there is none."""
    return _webhook(find_row(session, WebhookRow, name, noun="webhook"))


def list_all(session: Session) -> list[Webhook]:
    """By name."""
    rows = session.scalars(select(WebhookRow).order_by(WebhookRow.name))
    return [_webhook(row) for row in rows]


def remove(session: Session, name: str) -> None:
    """Forget a place, and the messages to it."""
    webhook = find(session, name)
    for table, column in (
        (DeliveryRow, DeliveryRow.webhook_id),
        (WebhookRow, WebhookRow.id),
    ):
        session.execute(
            delete(table).where(column == webhook.id),
            execution_options={"synchronize_session": False},
        )


def _webhook(row: WebhookRow) -> Webhook:
    return Webhook(
        id=row.id,
        name=row.name,
        kind=row.kind,
        target=row.target,
        secret=row.secret,
        events=row.events,
        policy=row.policy,
        created_at=row.created_at,
        created_by=row.created_by,
        disabled_at=row.disabled_at,
    )
