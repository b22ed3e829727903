"""Every error as application/problem+json (RFC 9457) with a stable code and the request's id."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from service.errors import (
    BusyError,
    FieldError,
    InvalidRequestError,
    ServiceError,
    UnauthorizedError,
    UnavailableError,
)
from service.telemetry import get_logger

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 50
LONGEST_VALUE = 120
RETRY_AFTER_S = 5

log = get_logger(__name__)


class ProblemField(BaseModel):
    """One thing wrong with the request."""

    pointer: str = Field(description="JSON pointer into the body, `?name` for a parameter")
    detail: str


class Problem(BaseModel):
    """What went wrong; `code` is stable, `detail` is for people."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "The request is not valid",
                    "status": 422,
                    "detail": "/tp_degree/0: Input should be less than or equal to 64; got 100",
                    "instance": "/v1/sweeps",
                    "code": "invalid_request",
                    "request_id": "9f0c2a6f3f0b4f6d8a1d2c3b4a5f6e7d",
                    "errors": [
                        {
                            "pointer": "/tp_degree/0",
                            "detail": "Input should be less than or equal to 64; got 100",
                        }
                    ],
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    errors: list[ProblemField] = []


class ProblemResponse(JSONResponse):
    """A problem on the wire."""

    media_type = MEDIA_TYPE


def install(app: FastAPI, routes: Sequence[Route]) -> None:
    """Let every exception of a request end as a problem document."""
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(HTTPException, _Unrouted(routes).answer)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(OperationalError, _database_error)
    app.add_exception_handler(PoolTimeoutError, _database_error)


def render(error: ServiceError, *, instance: str, request_id: str) -> Response:
    """The response that an error of the service answers with."""
    problem = Problem(
        title=error.title,
        status=error.status,
        detail=error.detail,
        instance=instance,
        code=error.code,
        request_id=request_id,
        errors=[ProblemField(pointer=e.pointer, detail=e.detail) for e in error.errors],
    )
    return ProblemResponse(
        problem.model_dump(), status_code=error.status, headers=_headers_of(error)
    )


def field_errors(errors: Sequence[Mapping[str, Any]]) -> tuple[FieldError, ...]:
    """Pydantic's errors with a pointer to the field and the value that was found."""
    found: list[FieldError] = []
    for error in errors[:MOST_ERRORS]:
        cause = error.get("ctx", {}).get("error")
        if isinstance(cause, ValidationError):
            inner = cause.errors(include_url=False)
            found += field_errors([{**e, "loc": (*error["loc"], *e["loc"])} for e in inner])
        else:
            found.append(FieldError(pointer=_pointer(error["loc"]), detail=_detail(error)))
    return tuple(found[:MOST_ERRORS])


def summary(errors: Sequence[FieldError]) -> str:
    """The first error in one line, and how many more there are."""
    first = ": ".join(filter(None, (errors[0].pointer, errors[0].detail)))
    return first if len(errors) == 1 else f"{first} (and {len(errors) - 1} more)"


async def _service_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)  # noqa: S101 - registered for these alone
    return _render(request, error)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for these alone
    errors = field_errors(error.errors())
    return _render(request, InvalidRequestError(summary(errors), errors=errors))


async def _database_error(request: Request, error: Exception) -> Response:
    log.error("database_failed", error=str(getattr(error, "orig", error)))
    return _render(request, UnavailableError("the database does not answer; try again"))


class _Unrouted:
    """Starlette's own exceptions: no such path, no such method."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = routes

    async def answer(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - registered for these alone
        status, headers, detail = HTTPStatus(error.status_code), error.headers, error.detail
        path = request.url.path
        if status is HTTPStatus.NOT_FOUND:
            detail = f"there is nothing at {path}"
        elif status is HTTPStatus.METHOD_NOT_ALLOWED:
            methods = ", ".join(self._methods(path))
            headers, detail = {"Allow": methods}, f"{path} takes {methods}, not {request.method}"
        problem = Problem(
            title=status.phrase,
            status=status.value,
            detail=detail,
            instance=path,
            code=status.name.lower(),
            request_id=_request_id(),
        )
        return ProblemResponse(problem.model_dump(), status_code=status.value, headers=headers)

    def _methods(self, path: str) -> list[str]:
        matching = (route for route in self._routes if route.path_regex.match(path))
        return sorted({method for route in matching for method in route.methods or ()})


def _render(request: Request, error: ServiceError) -> Response:
    return render(error, instance=request.url.path, request_id=_request_id())


def _request_id() -> str:
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def _headers_of(error: ServiceError) -> dict[str, str]:
    if isinstance(error, UnauthorizedError):
        return {"WWW-Authenticate": 'Bearer realm="tpsweep"'}
    if isinstance(error, BusyError | UnavailableError):
        return {"Retry-After": str(RETRY_AFTER_S)}
    return {}


def _pointer(loc: Sequence[str | int]) -> str:
    where, *path = loc
    if where in {"query", "header", "path", "cookie"}:
        mark = "?" if where == "query" else f"{where}:"
        return mark + ".".join(str(part) for part in path)
    escaped = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in escaped)


def _detail(error: Mapping[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing" or "input" not in error:
        return message
    value = repr(error["input"])
    if len(value) > LONGEST_VALUE:
        value = value[:LONGEST_VALUE] + "…"
    return f"{message}; got {value}"
