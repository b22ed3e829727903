"""The steps of a demonstration: wait until the service measures, measure, show what came out."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread

from rich.console import Console

from service.cli.client import Client
from service.cli.failures import CannotStartError, ServerFailedError, UnreachableError
from service.cli.supervise.supervisor import Supervisor
from service.cli.terminal import say
from service.cli.wire import Node

PATIENCE_S, LOOK_EVERY_S = 90.0, 0.2
LINES_KEPT = 12


class Log:
    """What the processes say: all of it in a file, the last lines for the case that they fail."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("w", encoding="utf-8")
        self._last: deque[str] = deque(maxlen=LINES_KEPT)
        self._lock = Lock()

    def report(self, source: str, line: str) -> None:
        """Write one line."""
        with self._lock:
            self._last.append(f"{source} | {line}")
            self._file.write(f"{source} | {line}\n")
            self._file.flush()

    def last(self) -> tuple[str, ...]:
        """The newest lines."""
        with self._lock:
            return tuple(self._last)


class Steps:
    """Says what is being done, with the seconds since the start."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """One step."""
        say(self.console, f"[{time.monotonic() - self._began:5.1f} s] {text}")


@contextmanager
def running(supervisor: Supervisor) -> Iterator[None]:
    """Run the supervisor beside the block; at the end, however it comes, no process is left."""
    thread = Thread(target=supervisor.run, name="supervisor")
    thread.start()
    try:
        yield
    finally:
        supervisor.stop()
        while thread.is_alive():
            try:
                thread.join(timeout=1)
            except KeyboardInterrupt:
                supervisor.stop()


def wait_for_api(client: Client, log: Log) -> None:
    """Return once the API answers that it is ready."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            client.get("/readyz")
        except (UnreachableError, ServerFailedError):
            time.sleep(LOOK_EVERY_S)
        else:
            return
    raise CannotStartError(f"the API is not ready after {PATIENCE_S:.0f} s", *_what(log))


def wait_for_nodes(client: Client, log: Log, *, since: float) -> list[Node]:
    """Return the nodes once a dispatcher has seen one after `since`, a time of this machine."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = client.whole_list("/v1/nodes").read(Node)
        if seen := [node for node in found if node.last_seen_at.timestamp() >= since]:
            return seen
        time.sleep(LOOK_EVERY_S)
    raise CannotStartError(f"nothing to measure on after {PATIENCE_S:.0f} s", *_what(log))


def _what(log: Log) -> tuple[str, ...]:
    return (f"{log.path} has all of it; it ends:", *log.last())
