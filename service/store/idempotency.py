"""A repeated request is the same request: the first under a key decides what it stands for."""

from dataclasses import dataclass

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.errors import IdempotencyMismatchError
from service.store.clock import db_now
from service.store.models.sweep import IdempotencyKeyRow


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """What makes a repeated request the same request."""

    principal: str
    key: str
    body_hash: str


def reserve(session: Session, *, principal: str, key: str, body_hash: str, sweep_id: str) -> str:
    """Let the key stand for the sweep, unless it stands for one already; return the one it is.

    A request with the same key that is still running elsewhere is waited for.
    """
    try:
        with session.begin_nested():
            session.execute(
                insert(IdempotencyKeyRow).values(
                    principal=principal,
                    key=key,
                    body_hash=body_hash,
                    sweep_id=sweep_id,
                    created_at=db_now(session),
                )
            )
    except IntegrityError:
        first = lookup(session, principal=principal, key=key, body_hash=body_hash)
        if first is None:
            raise
        return first
    return sweep_id


def lookup(session: Session, *, principal: str, key: str, body_hash: str) -> str | None:
    """Return the sweep this key made, None if none; IdempotencyMismatchError on another body."""
    row = session.execute(
        select(IdempotencyKeyRow.body_hash, IdempotencyKeyRow.sweep_id).where(
            IdempotencyKeyRow.principal == principal, IdempotencyKeyRow.key == key
        )
    ).one_or_none()
    if row is None:
        return None
    if row.body_hash != body_hash:
        msg = f"the key {key!r} was used before with another body; take a new key"
        raise IdempotencyMismatchError(msg)
    return str(row.sweep_id)
