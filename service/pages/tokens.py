"""Access tokens: issued, listed, revoked. A secret is shown once, on the page that answers."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from service.errors import ServiceError
from service.pages import forms
from service.pages.forms import Fields, FieldsDep
from service.pages.house import House, HouseDep
from service.pages.numbers import whole_numbers
from service.pages.page import go_to, page
from service.pages.route import PageRoute
from service.pages.visitor import Admin
from service.store import tokens
from service.store.states import Scope
from workers.contract.frozen import Frozen, Label

router = APIRouter(route_class=PageRoute)

LONGEST_DAYS: Final = 3650


class TokenForm(Frozen):
    """Who gets a token, and for what."""

    name: Annotated[Label, Field(min_length=1)]
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]


@router.get("/tokens")
def tokens_page(request: Request, house: HouseDep, visitor: Admin) -> Response:
    """Every token, and a form for one more."""
    del visitor
    return _shown(request, house, {})


@router.post("/tokens")
def issue(request: Request, house: HouseDep, visitor: Admin, fields: FieldsDep) -> Response:
    """Issue one and show its secret."""
    del visitor
    try:
        scopes = [scope for scope in Scope if fields.get(f"scope.{scope}")]
        asked = forms.parse(TokenForm, {"name": fields.get("name", ""), "scopes": scopes})
        with house.sessions.writing() as session:
            _, secret = tokens.create(
                session, name=asked.name, scopes=asked.scopes, expires_at=_expiry(fields)
            )
    except ServiceError as error:
        return _shown(request, house, fields, error=error)
    return _shown(request, house, {}, secret=secret)


@router.post("/tokens/{token_id}/revoke")
def revoke(token_id: str, house: HouseDep, visitor: Admin, fields: FieldsDep) -> Response:
    """End one at once, and every session of it."""
    del visitor, fields
    with house.sessions.writing() as session:
        tokens.revoke(session, token_id)
    return go_to("/tokens")


def _expiry(fields: Fields) -> datetime | None:
    text = fields.get("days", "")
    if not text:
        return None
    (days,) = whole_numbers("days", text, most=1, largest=LONGEST_DAYS)
    return datetime.now(UTC) + timedelta(days=days)


def _shown(
    request: Request,
    house: House,
    fields: Fields,
    *,
    secret: str = "",
    error: ServiceError | None = None,
) -> Response:
    with house.sessions.reading() as session:
        found = tokens.list_all(session)
    now = datetime.now(UTC)
    return page(
        request,
        "tokens.html",
        status=200 if error is None else error.status,
        found=[(one, one.expires_at is not None and one.expires_at <= now) for one in found],
        values={"name": "", "days": "90"} | dict(fields),
        scopes=list(Scope),
        secret=secret,
        error=error,
    )
