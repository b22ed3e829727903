"""The API behind a real socket, in a thread of the test."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import uvicorn
from fastapi import FastAPI

from service.api.__main__ import listen


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve until the block ends; yields the address."""
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=20)


@dataclass(frozen=True, slots=True)
class Event:
    """One event as a browser would read it."""

    seq: int
    kind: str
    data: dict[str, object]


def read_events(answer: httpx2.Response) -> Iterator[Event]:
    """Parse a stream while it comes in; comments are skipped."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if not line and "data" in fields:
            yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
