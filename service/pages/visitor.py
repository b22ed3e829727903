"""Who looks at a page, and whether they may: every page names the scope it needs."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from service.access import callers, cookies
from service.access.callers import LOCAL, Caller
from service.access.cookies import BrowserSession
from service.access.doors import SAFE_METHODS, Access, refuse_foreign_pages
from service.errors import ForbiddenError, UnauthorizedError
from service.pages.house import House
from service.store.states import Scope

NOBODY = Caller("", "", frozenset())


@dataclass(frozen=True, slots=True)
class Visitor:
    """A caller with the session of their browser."""

    caller: Caller
    session: BrowserSession
    form_token: str
    is_new: bool
    """Whether the browser does not have the session's cookie yet."""

    @property
    def may_submit(self) -> bool:
        """Whether forms that queue, stop or change are of use to them."""
        return Scope.SUBMIT in self.caller.scopes

    @property
    def may_administer(self) -> bool:
        """Whether they may issue tokens."""
        return Scope.ADMIN in self.caller.scopes

    @property
    def is_signed_in(self) -> bool:
        """Whether there is anything to sign out of."""
        return bool(self.session.token_id)


@dataclass(frozen=True, slots=True)
class Needs:
    """The scope that a page needs; None for those that anyone may see."""

    scope: Scope | None

    async def __call__(self, request: Request) -> Visitor:
        """The visitor that `admit` found; it runs before any dependency."""
        visitor: Visitor = request.state.visitor
        return visitor


AnyVisitor = Annotated[Visitor, Depends(Needs(None))]
Reader = Annotated[Visitor, Depends(Needs(Scope.READ))]
Submitter = Annotated[Visitor, Depends(Needs(Scope.SUBMIT))]
Admin = Annotated[Visitor, Depends(Needs(Scope.ADMIN))]


def recognise(request: Request, house: House) -> Visitor:
    """Whoever it is; NOBODY where a token is needed and none is valid."""
    session = house.cookies.read(request.cookies.get(cookies.NAME))
    is_new = session is None
    session = session or BrowserSession.begin()
    caller = LOCAL
    if house.access is Access.OPEN:
        refuse_foreign_pages(request.method, request.headers)
    else:
        caller = _of_token(house, session)
        _refuse_other_origins(request)
    return Visitor(caller, session, house.cookies.form_token(session), is_new)


def admit(visitor: Visitor, needs: Needs) -> None:
    """UnauthorizedError where they must sign in, ForbiddenError where that is not enough."""
    if needs.scope is None or needs.scope in visitor.caller.scopes:
        return
    if visitor.caller is NOBODY:
        raise UnauthorizedError("sign in with a token")
    has = ", ".join(sorted(visitor.caller.scopes)) or "none"
    raise ForbiddenError(f"this needs the scope {needs.scope}; your token has: {has}")


def _of_token(house: House, session: BrowserSession) -> Caller:
    if not session.token_id:
        return NOBODY
    try:
        return callers.of_token(house.sessions, session.token_id)
    except UnauthorizedError:
        return NOBODY


def _refuse_other_origins(request: Request) -> None:
    """A proxy may speak https for us: hosts are compared, not schemes."""
    origin = request.headers.get("origin")
    if request.method in SAFE_METHODS or origin is None:
        return
    if origin.partition("://")[2] != request.headers.get("host"):
        raise ForbiddenError(f"a page of {origin[:200]} may not change anything here")
