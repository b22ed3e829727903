"""What surrounds every request: an id, one log line, safe headers, and an answer to any failure."""

import re
import time
import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problems
from service.errors import ServiceError
from service.telemetry import get_logger

REQUEST_ID = "X-Request-Id"
SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_QUIET_PATHS = frozenset({"/livez", "/readyz", "/healthz"})

log = get_logger(__name__)


class Envelope:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A HEAD is answered as GET is; the server leaves the body out.
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        request_id = _request_id(Headers(scope=scope))
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            answer = _Answer(send, request_id=request_id)
            try:
                await self._app(asked, receive, answer.send)
            except Exception as error:
                log.exception("request_failed", method=scope["method"], path=scope["path"])
                if answer.status:  # half an answer is out: only closing the connection is honest
                    raise
                await _internal_error(error, request_id)(scope, receive, answer.send)
            answer.log(scope)


class _Answer:
    """The way out: adds the headers and remembers the status."""

    def __init__(self, send: Send, *, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self._began = time.perf_counter()
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self._request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    def log(self, scope: Scope) -> None:
        """One line per request; probes only when somebody looks for everything."""
        write = log.debug if scope["path"] in _QUIET_PATHS else log.info
        write(
            "request_served",
            method=scope["method"],
            path=scope["path"],
            status=self.status,
            duration_ms=round((time.perf_counter() - self._began) * 1e3, 1),
        )


def _internal_error(error: Exception, request_id: str) -> ASGIApp:
    """What a stranger may know of a failure: that it happened, and the id to ask for."""
    del error
    hidden = ServiceError(f"the service failed; its log has the cause under {request_id}")
    return problems.render(hidden, instance="", request_id=request_id)


def _request_id(headers: Headers) -> str:
    given = headers.get(REQUEST_ID, "")
    return given if _ACCEPTABLE_ID.fullmatch(given) else uuid.uuid4().hex
