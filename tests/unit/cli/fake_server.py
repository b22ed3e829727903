"""A real HTTP server that speaks as much of the contract as a test puts into it."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Reply:
    """One answer; `drops` closes the connection without one."""

    body: object = None
    status: int = 200
    text: str | None = None
    content_type: str = "application/json"
    drops: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def payload(self) -> bytes:
        return (json.dumps(self.body) if self.text is None else self.text).encode()


@dataclass(frozen=True)
class Received:
    """What a client sent."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class FakeServer:
    """Replies by `METHOD /path`: in their order, the last one again and again."""

    url: str = ""
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)

    def on(self, what: str, *replies: Reply) -> None:
        """Answer `GET /v1/…` with these."""
        self.replies[what] = list(replies)

    def calls(self, what: str) -> list[Received]:
        """Requests of `METHOD /path`."""
        return [one for one in self.received if f"{one.method} {one.path}" == what]

    def reply_to(self, received: Received) -> Reply:
        self.received.append(received)
        waiting = self.replies.get(f"{received.method} {received.path}")
        if not waiting:
            return problem(404, "not_found", "There is no such thing", f"no {received.path}")
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


def problem(status: int, code: str, title: str, detail: str, **more: object) -> Reply:
    """A problem document as the service answers it."""
    body: dict[str, object] = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": "r-1",
        "errors": [],
    }
    return Reply({**body, **more}, status=status, content_type="application/problem+json")


def stream(*events: tuple[int, str, object]) -> Reply:
    """Server-sent events: number, kind and data of each."""
    frames = [f"id: {n}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for n, kind, data in events]
    return Reply(text="retry: 2000\n\n" + "".join(frames), content_type="text/event-stream")


def _body(headers: Message, sent: BufferedIOBase) -> bytes:
    """A body of known length, or one in chunks."""
    if headers.get("Transfer-Encoding") != "chunked":
        return sent.read(int(headers.get("Content-Length", 0)))
    chunks: list[bytes] = []
    while size := int(sent.readline(), 16):
        chunks.append(sent.read(size))
        sent.readline()
    sent.readline()
    return b"".join(chunks)


@contextmanager
def serving() -> Iterator[FakeServer]:
    """Serve on a free port until the block ends."""
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = _body(self.headers, self.rfile)
            reply = fake.reply_to(
                Received(self.command, parts.path, parse_qs(parts.query), dict(self.headers), body)
            )
            if reply.drops:
                self.close_connection = True
                return
            self.send_response(reply.status)
            if reply.status != 204:
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(reply.payload)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if reply.status != 204:
                self.wfile.write(reply.payload)

        do_GET = do_POST = do_DELETE = do_PATCH = _serve  # noqa: N815 - its names there

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
