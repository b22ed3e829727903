"""Who calls, and whether they may: every route names the scope it needs with `requires`."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError

from service.api.access import Access, refuse_foreign_pages
from service.api.state import Service, service_of
from service.errors import ForbiddenError, UnauthorizedError
from service.store import tokens
from service.store.states import Scope
from service.store.tokens import Token
from service.telemetry import get_logger

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who did it; the name is written beside what was done."""

    id: str
    name: str
    scopes: frozenset[Scope]


LOCAL = Caller("local", "local", frozenset(Scope))
"""Anyone on this machine, where access is open."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """The scope that a route needs; None for those that anyone may ask."""

    scope: Scope | None

    async def __call__(self, request: Request) -> Caller:
        """The caller that `authorize` found; it runs before any dependency.

        Not worth the thread that a plain function would be given.
        """
        caller: Caller = request.state.caller
        return caller


def requires(scope: Scope) -> Requirement:
    """For a route that needs the scope: `caller: Annotated[Caller, Depends(requires(…))]`."""
    return Requirement(scope)


Public = Annotated[Caller, Depends(Requirement(None))]
Reader = Annotated[Caller, Depends(requires(Scope.READ))]
Submitter = Annotated[Caller, Depends(requires(Scope.SUBMIT))]
Admin = Annotated[Caller, Depends(requires(Scope.ADMIN))]


def authorize(request: Request, requirement: Requirement) -> None:
    """Leave the caller in `request.state`, or raise UnauthorizedError or ForbiddenError."""
    if requirement.scope is None:
        request.state.caller = Caller("", "anyone", frozenset())
        return
    caller = _identify(request, service_of(request))
    if requirement.scope not in caller.scopes:
        has = ", ".join(sorted(caller.scopes)) or "none"
        raise ForbiddenError(f"this needs the scope {requirement.scope}; the token has: {has}")
    request.state.caller = caller


def _identify(request: Request, service: Service) -> Caller:
    header = request.headers.get("authorization")
    if header is not None:
        token = _authenticate(service, header)
        return Caller(token.id, token.name, token.scopes)
    if service.access is Access.TOKEN:
        raise UnauthorizedError("send a token: Authorization: Bearer tps_…")
    refuse_foreign_pages(request.method, request.headers)
    return LOCAL


def _authenticate(service: Service, header: str) -> Token:
    kind, _, presented = header.partition(" ")
    if kind.lower() != "bearer":
        raise UnauthorizedError("send a token: Authorization: Bearer tps_…")
    with service.sessions.reading() as session:
        token = tokens.authenticate(session, presented.strip())
    if token is None:
        raise UnauthorizedError("the token is not known, has expired or was revoked")
    _note_use(service, token)
    return token


def _note_use(service: Service, token: Token) -> None:
    """Keep roughly when the token was last used; a failure to do so fails no request."""
    if token.use_is_noted:
        return
    try:
        with service.sessions.writing() as session:
            tokens.note_use(session, token.id)
    except SQLAlchemyError as error:
        log.warning("token_use_not_noted", token_id=token.id, error=str(error))
