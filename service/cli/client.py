import ipaddress
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import JsonValue

from service.cli.answers import Answer, Listing, Page
from service.cli.failures import UnavailableError, UnreachableError, UsageError
from service.cli.refusals import refusal_of
from service.settings import Settings

Parameters = Mapping[str, str | float | list[str] | list[int] | None]

CONNECT_S, ANSWER_S = 5.0, 60.0
SILENCE_S = 60.0
"""An event stream says something more often than this."""
SENDS_OF_ONE_KEY = 3
LEAST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0
"""Between them."""
LARGEST_PAGE = 200
NO_CONTENT, LAST_SUCCESS = 204, 299


class Client:
    """The HTTP API as the commands need it; every failure is one of `service.cli.failures`."""

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        transport: httpx2.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._pause = pause
        if not _fits_a_header(token):
            raise UsageError("TPSWEEP_TOKEN has characters that no token has; copy it once more")
        try:
            self._http = httpx2.Client(
                base_url=self.url,
                headers={"Authorization": f"Bearer {token}"} if token else {},
                timeout=httpx2.Timeout(ANSWER_S, connect=CONNECT_S),
                trust_env=not _is_loopback(_host(self.url)),  # no proxy leads to this machine
                transport=transport,
            )
        except (ValueError, httpx2.InvalidURL):
            wrong = f"TPSWEEP_URL={url!r} is not an http:// or https:// address"
            raise UsageError(wrong, "it takes one like http://127.0.0.1:8321") from None

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """A client of the server that the settings name."""
        return cls(settings.client_url, token=settings.token.get_secret_value())

    def __enter__(self) -> Self:
        """Keep connections open between calls."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close them."""
        self._http.close()

    def get(self, path: str, parameters: Parameters | None = None) -> Answer:
        """Read one resource."""
        return self._send(self._request("GET", path, parameters=parameters))

    def collect(self, path: str, parameters: Parameters, *, limit: int) -> Listing:
        """Read a list over as many pages as `limit` items take."""
        items: list[JsonValue] = []
        cursor: str | None = None
        while True:
            wanted = {**parameters, "limit": min(limit - len(items), LARGEST_PAGE)}
            page = self.get(path, {**wanted, "cursor": cursor}).read(Page)
            items += page.items
            cursor = page.next_cursor
            if cursor is None or len(items) >= limit:
                return Listing(url=self.url + path, items=items, next_cursor=cursor)

    def whole_list(self, path: str, parameters: Parameters | None = None) -> Listing:
        """Read a list that comes in one piece."""
        page = self.get(path, parameters).read(Page)
        return Listing(url=self.url + path, items=page.items, next_cursor=None)

    def post(
        self,
        path: str,
        body: bytes = b"",
        *,
        key: str | None = None,
        content_type: str = "application/json",
        parameters: Parameters | None = None,
    ) -> Answer:
        """Send a body. With an idempotency key it is sent again, safely, where no answer came."""
        headers = {"Content-Type": content_type} if body else {}
        if key is not None and not _fits_a_header(key):
            raise UsageError(f"the idempotency key {key!r} may have printed ASCII characters only")
        if key is not None:
            headers["Idempotency-Key"] = key
        request = self._request("POST", path, parameters=parameters, body=body, headers=headers)
        for _ in range(SENDS_OF_ONE_KEY - 1 if key is not None else 0):
            try:
                return self._send(request)
            except UnreachableError:
                self._pause(LEAST_PAUSE_S)
            except UnavailableError as error:
                self._pause(min(max(error.retry_after_s, LEAST_PAUSE_S), LONGEST_PAUSE_S))
        return self._send(request)

    def upload(self, path: str, chunks: Iterable[bytes], *, content_type: str) -> Answer:
        """Send a file piece by piece, and wait as long as the server takes with it."""
        return self._send(
            self._http.build_request(
                "POST",
                path,
                content=chunks,
                headers={"Content-Type": content_type},
                timeout=httpx2.Timeout(None, connect=CONNECT_S),
            )
        )

    def download(self, path: str, parameters: Parameters) -> Iterator[bytes]:
        """Read a file piece by piece; UnreachableError when the connection breaks on the way."""
        given = {key: value for key, value in parameters.items() if value is not None}
        try:
            with self._http.stream("GET", path, params=given) as response:
                if response.status_code > LAST_SUCCESS:
                    response.read()
                    raise refusal_of(response)
                yield from response.iter_bytes()
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error

    def patch(self, path: str, body: bytes) -> Answer:
        """Change part of one resource."""
        headers = {"Content-Type": "application/json"}
        return self._send(self._request("PATCH", path, body=body, headers=headers))

    def delete(self, path: str) -> None:
        """Remove one resource."""
        self._send(self._request("DELETE", path))

    def events(self, path: str, *, last_event_id: str) -> Iterator[httpx2.ServerSentEvent]:
        """Events until the server ends the stream; UnreachableError when the connection breaks."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        patience = httpx2.Timeout(ANSWER_S, connect=CONNECT_S, read=SILENCE_S)
        try:
            with self._http.stream("GET", path, headers=headers, timeout=patience) as response:
                if response.status_code > LAST_SUCCESS:
                    response.read()
                    raise refusal_of(response)
                if response.status_code != NO_CONTENT:
                    yield from (event for event in httpx2.EventSource(response) if event.data)
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error

    def _request(
        self,
        method: str,
        path: str,
        *,
        parameters: Parameters | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Request:
        given = {key: value for key, value in (parameters or {}).items() if value is not None}
        return self._http.build_request(
            method, path, params=given, content=body or None, headers=headers
        )

    def _send(self, request: httpx2.Request) -> Answer:
        try:
            response = self._http.send(request)
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error
        if response.status_code > LAST_SUCCESS:
            raise refusal_of(response)
        return Answer(url=str(request.url), body=response.content)

    def _unreachable(self, error: httpx2.TransportError) -> UnreachableError:
        return UnreachableError(
            f"no server answers at {self.url} ({str(error) or type(error).__name__})",
            "`tpsweep up` starts one; TPSWEEP_URL says where another is",
        )


def resource(*parts: str) -> str:
    """Path of a resource. What a person typed stays one part of it, whatever it holds."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def new_key() -> str:
    """An idempotency key that nobody used before."""
    return uuid.uuid4().hex


def _fits_a_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _host(url: str) -> str:
    """ValueError where it is no address of a web server."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError(url)  # as does the port where it is none
    return parts.hostname


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
