"""`python -m service.api`: one server process that stops gracefully on SIGTERM and Ctrl-C."""

import asyncio
import gc
import socket
import sys
from types import FrameType

import uvicorn
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from service.access.doors import Access, access_of
from service.api.app import create_app
from service.api.feed import Feed
from service.api.state import Service
from service.settings import Settings
from service.store import schema, tokens
from service.store.engine import Sessions, create_engine
from service.telemetry import configure_logging

GRACE_S = 5
BACKLOG = 2048
CANNOT_START = 78
"""EX_CONFIG: starting again changes nothing until somebody changes the configuration."""
NUM_OBJECTS = 10_000
"""Made between two looks of the collector."""


class StreamingServer(uvicorn.Server):
    """Lets event streams end before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, feed: Feed) -> None:
        super().__init__(config)
        self._feed = feed

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called in the main thread, where the loop runs."""
        asyncio.get_running_loop().call_soon(self._feed.close)
        super().handle_exit(sig, frame)


def main() -> int:
    """Check, say what is served where and to whom, and serve."""
    settings = Settings()
    configure_logging(settings)
    engine = create_engine(settings.database)
    if (reason := reason_not_to_start(settings, engine)) is not None:
        return _refuse(reason)
    try:
        listening = listen(settings.host, settings.port)
    except OSError as error:
        return _refuse(f"{settings.host}:{settings.port}: {error.strerror}")
    with listening:
        print(greeting(settings, port=listening.getsockname()[1]), flush=True)  # noqa: T201 - for people
        serve(settings, engine, listening)
    return 0


def serve(settings: Settings, engine: Engine, listening: socket.socket) -> None:
    """Answer until told to stop."""
    app = create_app(settings, Sessions(engine))
    service: Service = app.state.service
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    spare_requests()
    StreamingServer(config, service.feed).run(sockets=[listening])


def spare_requests() -> None:
    """Keep the collector of cycles from holding requests up.

    What the imports left would make a full collection take 0.1 s; and a page over thousands of
    results makes more objects than the collector would by itself let pass between two looks.
    """
    gc.freeze()
    gc.set_threshold(NUM_OBJECTS)


def listen(host: str, port: int) -> socket.socket:
    """Open the port, 0 for a free one.

    With its protocol named, since asyncio sends small packets at once only on sockets that name it;
    otherwise every answer waits 40 ms for the client's delayed acknowledgement.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[0][4])
        listening.listen(BACKLOG)  # before the greeting: whoever reads it may connect
    except OSError:
        listening.close()
        raise
    return listening


def reason_not_to_start(settings: Settings, engine: Engine) -> str | None:
    """What is missing, with the command that provides it."""
    try:
        if not schema.is_current(engine):
            return f"{settings.database_shown} is not migrated; run: tpsweep db upgrade"
        if access_of(settings) is Access.TOKEN and not _has_tokens(engine):
            return (
                f"{settings.host} needs tokens and there is none that is valid; "
                "run: tpsweep token create (or listen on 127.0.0.1)"
            )
    except SQLAlchemyError as error:
        reason = getattr(error, "orig", error)
        return (
            f"{settings.database_shown} does not answer: {reason} "
            "(a new database is made by: tpsweep db upgrade)"
        )
    return None


def greeting(settings: Settings, *, port: int) -> str:
    """One line: address, database, access."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    access = {
        Access.OPEN: "open to this machine (loopback, no token needed)",
        Access.TOKEN: "by token",
    }[access_of(settings)]
    return (
        f"tpsweep api: http://{host}:{port} · docs /docs · "
        f"database {settings.database_shown} · access {access}"
    )


def _refuse(reason: str) -> int:
    print(f"tpsweep api does not start: {reason}", file=sys.stderr)  # noqa: T201 - for people
    return CANNOT_START


def _has_tokens(engine: Engine) -> bool:
    with Sessions(engine).reading() as session:
        return tokens.exist(session)


if __name__ == "__main__":
    sys.exit(main())
