"""Access tokens `tps_<id>.<secret>`; of the secret only a hash is kept."""

import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest

from sqlalchemy import ColumnElement, and_, exists, false, func, insert, or_, select, update
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store.clock import db_now
from service.store.models.token import TokenRow
from service.store.states import Scope

PREFIX = "tps_"
_ID_BYTES = 8
_SECRET_BYTES = 32
_SHAPE = re.compile(r"tps_([0-9a-f]{16})\.([A-Za-z0-9_-]+)")
_NOTED_FOR = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Token:
    """Who may do what, until when."""

    id: str
    name: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    use_is_noted: bool
    """Whether `last_used_at` is younger than a minute; if not, call `note_use`."""


def create(
    session: Session, *, name: str, scopes: Collection[Scope], expires_at: datetime | None = None
) -> tuple[Token, str]:
    """Issue a token; the second value is what its holder presents and is never shown again."""
    token_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    session.execute(
        insert(TokenRow).values(
            id=token_id,
            name=name,
            secret_sha256=_digest(secret),
            scopes=tuple(sorted(scopes)),
            created_at=db_now(session),
            expires_at=expires_at,
        )
    )
    return _find(session, token_id), f"{PREFIX}{token_id}.{secret}"


def authenticate(session: Session, presented: str) -> Token | None:
    """Return the token if it is valid now. A reading session is enough."""
    parts = _SHAPE.fullmatch(presented)
    if parts is None:
        return None
    token_id, secret = parts.groups()
    row = session.execute(
        select(TokenRow, _is_noted(session)).where(TokenRow.id == token_id, _is_valid(session)),
        execution_options={"populate_existing": True},
    ).one_or_none()
    expected = "" if row is None else row[0].secret_sha256
    if not compare_digest(_digest(secret), expected) or row is None:
        return None
    return _token(row[0], use_is_noted=row[1])


def find_valid(session: Session, token_id: str) -> Token | None:
    """Return the token if it is valid now, for who has shown its secret before."""
    row = session.execute(
        select(TokenRow, _is_noted(session)).where(TokenRow.id == token_id, _is_valid(session)),
        execution_options={"populate_existing": True},
    ).one_or_none()
    return None if row is None else _token(row[0], use_is_noted=row[1])


def note_use(session: Session, token_id: str) -> None:
    """Set `last_used_at`; for a token whose `use_is_noted` is false."""
    session.execute(
        update(TokenRow).where(TokenRow.id == token_id).values(last_used_at=db_now(session)),
        execution_options={"synchronize_session": False},
    )


def revoke(session: Session, token_id: str) -> Token:
    """No effect on a token that is revoked. NotFoundError if there is none."""
    session.execute(
        update(TokenRow)
        .where(TokenRow.id == token_id, TokenRow.revoked_at.is_(None))
        .values(revoked_at=db_now(session)),
        execution_options={"synchronize_session": False},
    )
    return _find(session, token_id)


def list_all(session: Session) -> list[Token]:
    """Oldest first, revoked and expired ones too."""
    rows = session.execute(
        select(TokenRow, _is_noted(session)).order_by(TokenRow.created_at, TokenRow.id),
        execution_options={"populate_existing": True},
    )
    return [_token(row, use_is_noted=noted) for row, noted in rows]


def exist(session: Session) -> bool:
    """Whether any token is valid now."""
    return bool(session.scalar(select(exists(select(1).where(_is_valid(session))))))


def _find(session: Session, token_id: str) -> Token:
    row = session.execute(
        select(TokenRow, _is_noted(session)).where(TokenRow.id == token_id),
        execution_options={"populate_existing": True},
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no token {token_id!r}")
    return _token(row[0], use_is_noted=row[1])


def _is_valid(session: Session) -> ColumnElement[bool]:
    return and_(
        TokenRow.revoked_at.is_(None),
        or_(TokenRow.expires_at.is_(None), TokenRow.expires_at > db_now(session)),
    )


def _is_noted(session: Session) -> ColumnElement[bool]:
    recent = TokenRow.last_used_at > db_now(session, plus=-_NOTED_FOR)
    return func.coalesce(recent, false())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(row: TokenRow, *, use_is_noted: bool) -> Token:
    return Token(
        id=row.id,
        name=row.name,
        scopes=frozenset(row.scopes),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
        use_is_noted=bool(use_is_noted),
    )
