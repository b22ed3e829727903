"""What every route does before its function runs: who is it, which parameters, which body."""

from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from service.api import strict_json
from service.api.auth import Requirement, authorize, has_credentials
from service.api.state import service_of
from service.errors import (
    BodyTooLargeError,
    FieldError,
    InvalidRequestError,
    MediaTypeError,
    NotFoundError,
)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Responses = dict[int | str, dict[str, Any]]
"""What FastAPI takes as `responses`."""


class ApiRoute(APIRoute):
    """A route that declares its scope; one that does not fails when the application is built."""

    @property
    def requirement(self) -> Requirement:
        """What the caller must be allowed to do."""
        found = [
            sub.call for sub in self.dependant.dependencies if isinstance(sub.call, Requirement)
        ]
        if len(found) != 1:
            msg = f"{self.path} declares {len(found)} scopes; each route declares one: requires(…)"
            raise TypeError(msg)
        return found[0]

    def get_route_handler(self) -> Handler:
        """FastAPI's handler behind our gate."""
        handle = super().get_route_handler()
        requirement, names = self.requirement, _query_names(self.dependant)
        takes_body = self.body_field is not None

        async def serve(request: Request) -> Response:
            if has_credentials(request):
                await run_in_threadpool(authorize, request, requirement)
            else:
                authorize(request, requirement)
            _check_parameters(request, names)
            strict = StrictRequest(request.scope, request.receive)
            if takes_body:
                await strict.json()
            return await handle(strict)

        return serve


def routes_of(routers: Iterable[APIRouter]) -> Iterator[ApiRoute]:
    """Every route of the routers."""
    for router in routers:
        yield from (route for route in router.routes if isinstance(route, ApiRoute))


class StrictRequest(Request):
    """A request whose body is bounded while it streams in, and is JSON to the letter."""

    async def body(self) -> bytes:
        """The whole body. Raises BodyTooLargeError once it is longer than the limit."""
        if not hasattr(self, "_body"):
            self._body = await self._read()
        return self._body

    async def json(self) -> Any:  # noqa: ANN401 - whatever the client sent
        """The parsed body, None where there is none."""
        if not hasattr(self, "_json"):
            body = await self.body()
            if body:
                self._check_media_type()
            self._json = await run_in_threadpool(strict_json.parse, body) if body else None
        return self._json

    async def _read(self) -> bytes:
        limit = service_of(self).settings.max_body_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > limit:
                raise BodyTooLargeError(f"a body may have {limit} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def _check_media_type(self) -> None:
        given = self.headers.get("content-type", "")
        if given.partition(";")[0].strip().lower() != "application/json":
            raise MediaTypeError(f"Content-Type is {given[:200]!r}; send application/json")


def _query_names(dependant: Dependant) -> frozenset[str]:
    names: set[str] = set()
    for field in dependant.query_params:
        annotation = field.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            names |= {info.alias or name for name, info in annotation.model_fields.items()}
        else:
            names.add(field.alias)
    return frozenset(names).union(*(_query_names(sub) for sub in dependant.dependencies))


def _check_parameters(request: Request, names: frozenset[str]) -> None:
    """Refuse parameters that the route does not have, and text that is none."""
    if not all(strict_json.is_text(str(value)) for value in request.path_params.values()):
        raise NotFoundError(f"there is nothing at {request.url.path}")
    errors = [
        FieldError(pointer=f"?{name[:100]}", detail=detail)
        for name, value in request.query_params.multi_items()
        if (detail := _parameter_error(name, value, names))
    ]
    if errors:
        raise InvalidRequestError(f"{errors[0].pointer}: {errors[0].detail}", errors=tuple(errors))


def _parameter_error(name: str, value: str, names: frozenset[str]) -> str | None:
    if name not in names:
        known = ", ".join(sorted(names)) or "none"
        return f"there is no such parameter; there are: {known}"
    if not strict_json.is_text(value):
        return "the value holds a NUL or half of a surrogate pair"
    return None
