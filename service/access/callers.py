"""Who calls: the holder of a token, or anyone on this machine where access is open."""

from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from service.errors import UnauthorizedError
from service.store import tokens
from service.store.engine import Sessions
from service.store.states import Scope
from service.store.tokens import Token
from service.telemetry import get_logger

log = get_logger(__name__)

NOT_VALID = "the token is not known, has expired or was revoked"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who did it; the name is written beside what was done."""

    id: str
    name: str
    scopes: frozenset[Scope]


LOCAL = Caller("local", "local", frozenset(Scope))
"""Anyone on this machine, where access is open."""


def of_secret(sessions: Sessions, presented: str) -> Caller:
    """Whoever holds the token's secret. UnauthorizedError where it is not valid now."""
    with sessions.reading() as session:
        token = tokens.authenticate(session, presented)
    return _known(sessions, token)


def of_token(sessions: Sessions, token_id: str) -> Caller:
    """Whoever a browser's session was opened for. UnauthorizedError once the token is not valid."""
    with sessions.reading() as session:
        token = tokens.find_valid(session, token_id)
    return _known(sessions, token)


def _known(sessions: Sessions, token: Token | None) -> Caller:
    if token is None:
        raise UnauthorizedError(NOT_VALID)
    _note_use(sessions, token)
    return Caller(token.id, token.name, token.scopes)


def _note_use(sessions: Sessions, token: Token) -> None:
    """Keep roughly when the token was last used; a failure to do so fails no request."""
    if token.use_is_noted:
        return
    try:
        with sessions.writing() as session:
            tokens.note_use(session, token.id)
    except SQLAlchemyError as error:
        log.warning("token_use_not_noted", token_id=token.id, error=str(error))
