"""What every page does before and after its function: who is it, is the form ours, how it fails."""

from collections.abc import Callable, Coroutine
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from service.access import cookies
from service.errors import InvalidRequestError, ServiceError, UnauthorizedError
from service.pages import forms
from service.pages.house import House, house_of
from service.pages.page import go_to, page
from service.pages.visitor import Needs, Visitor, admit, recognise

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "Referrer-Policy": "same-origin",  # with no referrer at all, forms come with Origin: null
    "Vary": "Cookie",
}


class PageRoute(APIRoute):
    """A page that declares its scope; one that does not fails when the application is built."""

    @property
    def needs(self) -> Needs:
        """What the visitor must be allowed to do."""
        found = [sub.call for sub in self.dependant.dependencies if isinstance(sub.call, Needs)]
        if len(found) != 1:
            msg = f"{self.path} declares {len(found)} scopes; each page declares one"
            raise TypeError(msg)
        return found[0]

    def get_route_handler(self) -> Handler:
        """FastAPI's handler behind our gate."""
        handle, needs = super().get_route_handler(), self.needs

        async def serve(request: Request) -> Response:
            house = house_of(request)
            visitor: Visitor | None = None
            try:
                visitor = await run_in_threadpool(recognise, request, house)
                request.state.visitor = visitor
                admit(visitor, needs)
                if request.method == "POST":
                    request.state.fields = await _fields(request, house, visitor)
                response = await handle(request)
            except UnauthorizedError:
                response = _to_sign_in(request)
            except RequestValidationError as error:
                response = _failed(request, _invalid(error))
            except ServiceError as error:
                response = _failed(request, error)
            _finish(request, response, house, visitor)
            return response

        return serve


async def _fields(request: Request, house: House, visitor: Visitor) -> forms.Fields:
    fields = await forms.read(request, most_bytes=house.settings.max_body_bytes)
    given = fields.get(forms.TOKEN_FIELD, "")
    forms.refuse_forged(fields, is_ours=house.cookies.is_form_token(visitor.session, given))
    return fields


def _to_sign_in(request: Request) -> Response:
    """Come back afterwards to what was asked for, if it can be asked for again."""
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"HX-Redirect": "/sign-in"})
    after = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if request.method != "GET" or after == "/":
        return go_to("/sign-in")
    return go_to(f"/sign-in?{urlencode({'after': after})}")


def _invalid(error: RequestValidationError) -> ServiceError:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:])
    return InvalidRequestError(f"{name}: {first['msg']}")


def _failed(request: Request, error: ServiceError) -> Response:
    return page(request, "failed.html", status=error.status, error=error)


def _finish(request: Request, response: Response, house: House, visitor: Visitor | None) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    is_page = request.method == "GET" and response.media_type == "text/html"
    if visitor is not None and visitor.is_new and is_page:
        keep(request, response, house.cookies.sign(visitor.session))


def keep(request: Request, response: Response, value: str) -> None:
    """Give the browser its session; over https it comes back only over https."""
    is_https = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    response.set_cookie(
        cookies.NAME,
        value,
        max_age=cookies.LASTS_S,
        path="/",
        secure=is_https,
        httponly=True,
        samesite="lax",
    )
