"""Who calls, and whether they may: every route names the scope it needs with `requires`."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from service.access import callers, cookies
from service.access.callers import Caller
from service.access.doors import SAFE_METHODS, Access, refuse_foreign_pages
from service.api.state import Service, service_of
from service.errors import ForbiddenError, UnauthorizedError
from service.store.states import Scope

SEND_A_TOKEN = "send a token: Authorization: Bearer tps_…"  # noqa: S105 - a sentence


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


def has_credentials(request: Request) -> bool:
    """Whether finding the caller takes a look into the database."""
    return "authorization" in request.headers or cookies.NAME in request.cookies


def _identify(request: Request, service: Service) -> Caller:
    header = request.headers.get("authorization")
    if header is not None:
        return _authenticate(service, header)
    if service.access is Access.TOKEN:
        return _in_a_browser(request, service)
    refuse_foreign_pages(request.method, request.headers)
    return callers.LOCAL


def _authenticate(service: Service, header: str) -> Caller:
    kind, _, presented = header.partition(" ")
    if kind.lower() != "bearer":
        raise UnauthorizedError(SEND_A_TOKEN)
    return callers.of_secret(service.sessions, presented.strip())


def _in_a_browser(request: Request, service: Service) -> Caller:
    """Pages stream progress and download results with their cookie; it changes nothing here."""
    session = service.cookies.read(request.cookies.get(cookies.NAME))
    if session is None or not session.token_id or request.method not in SAFE_METHODS:
        raise UnauthorizedError(SEND_A_TOKEN)
    return callers.of_token(service.sessions, session.token_id)
