"""Access tokens `tps_<id>.<secret>`; of the secret only a hash is kept."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from service.store.states import Scope


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
    raise NotImplementedError


def authenticate(session: Session, presented: str) -> Token | None:
    """Return the token if it is valid now. Needs only a reading session."""
    raise NotImplementedError


def note_use(session: Session, token_id: str) -> None:
    """Set `last_used_at`; for a token whose `use_is_noted` is false."""
    raise NotImplementedError


def revoke(session: Session, token_id: str) -> Token:
    """No effect on a token that is revoked. NotFoundError if there is none."""
    raise NotImplementedError


def list_all(session: Session) -> list[Token]:
    """Oldest first, revoked and expired ones too."""
    raise NotImplementedError


def exist(session: Session) -> bool:
    """Whether any token is valid now."""
    raise NotImplementedError
