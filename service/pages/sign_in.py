"""Signing in with a token, and out."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from service.access import callers, cookies
from service.access.cookies import BrowserSession
from service.access.doors import Access
from service.errors import UnauthorizedError
from service.pages.forms import FieldsDep
from service.pages.house import HouseDep
from service.pages.page import go_to, page
from service.pages.route import PageRoute, keep
from service.pages.visitor import AnyVisitor

router = APIRouter(route_class=PageRoute)

After = Annotated[str, Query(max_length=2000)]


@router.get("/sign-in")
def sign_in_page(
    request: Request, house: HouseDep, visitor: AnyVisitor, after: After = "/"
) -> Response:
    """Where a token is pasted."""
    del visitor
    return page(
        request, "sign_in.html", after=_own(after), is_open=house.access is Access.OPEN, wrong=""
    )


@router.post("/sign-in")
def sign_in(request: Request, house: HouseDep, visitor: AnyVisitor, fields: FieldsDep) -> Response:
    """Open a session for the token; the token itself is not kept."""
    del visitor
    after = _own(fields.get("after", "/"))
    try:
        caller = callers.of_secret(house.sessions, fields.get("token", ""))
    except UnauthorizedError as error:
        is_open = house.access is Access.OPEN
        return page(
            request,
            "sign_in.html",
            status=error.status,
            after=after,
            is_open=is_open,
            wrong=error.detail,
        )
    response = go_to(after)
    keep(request, response, house.cookies.sign(BrowserSession.begin(caller.id)))
    return response


@router.post("/sign-out")
def sign_out(visitor: AnyVisitor, fields: FieldsDep) -> Response:
    """Forget the session."""
    del visitor, fields
    response = go_to("/sign-in")
    response.delete_cookie(cookies.NAME, path="/")
    return response


def _own(after: str) -> str:
    """A path of ours: what begins with two slashes, of either kind, leads to another host."""
    is_path = after.startswith("/") and not after.startswith(("//", "/\\"))
    return after if is_path and after.isprintable() else "/"
