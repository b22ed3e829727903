"""The service on this machine for as long as a command takes."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread
from typing import NoReturn

from service.cli.client import Client
from service.cli.failures import CannotStartError, ServerFailedError, UnreachableError
from service.cli.steps import Steps
from service.cli.supervise.preparation import (
    free_port,
    is_port_free,
    prepare_database,
    prepare_home,
)
from service.cli.supervise.services import API, DISPATCHER, api, dispatcher, watch
from service.cli.supervise.supervisor import SUPERVISOR, Supervisor
from service.cli.wire.nodes import Node
from service.settings import Settings

PATIENCE_S, LOOK_EVERY_S = 90.0, 0.25
LINES_KEPT = 8


class Log:
    """What the processes say: all of it in a file, each one's last lines for when it fails."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("w", encoding="utf-8")
        self._last: dict[str, deque[str]] = {}
        self._lock = Lock()

    def report(self, source: str, line: str) -> None:
        """Write one line."""
        with self._lock:
            self._last.setdefault(source, deque(maxlen=LINES_KEPT)).append(line)
            if not self._file.closed:
                self._file.write(f"{source} | {line}\n")
                self._file.flush()

    def last(self, *sources: str) -> tuple[str, ...]:
        """The newest lines of each of the sources."""
        with self._lock:
            return tuple(
                f"{name} | {line}" for name in sources for line in self._last.get(name, ())
            )

    def close(self) -> None:
        """Close the file; what is reported later is lost."""
        with self._lock:
            self._file.close()


class LocalService:
    """API and dispatcher as children, beside a client in the same process."""

    def __init__(self, settings: Settings, *, log_name: str) -> None:
        self.log = Log(settings.home / "logs" / log_name)
        children = [api(settings), dispatcher(settings), watch(settings)]
        self._supervisor = Supervisor(children, report=self.log.report)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run beside the block; at its end, however it comes, no process is left."""
        thread = Thread(target=self._supervisor.run, name="supervisor")
        thread.start()
        try:
            yield
        finally:
            self._supervisor.stop()
            while thread.is_alive():
                try:
                    thread.join(timeout=1)
                except KeyboardInterrupt:
                    self._supervisor.stop()
            self.log.close()

    def wait_for_api(self, client: Client) -> None:
        """Return once the API answers that it is ready."""
        for _ in self._looks(API):
            try:
                client.get("/readyz")
            except (UnreachableError, ServerFailedError):
                continue
            return

    def wait_for_nodes(self, client: Client, *, since: float) -> list[Node]:
        """Return the nodes that a dispatcher has seen after `since`, a time of this machine."""
        seen: list[Node] = []
        for _ in self._looks(DISPATCHER):
            found = client.whole_list("/v1/nodes").read(Node)
            if seen := [node for node in found if node.last_seen_at.timestamp() >= since]:
                break
        return seen

    def _looks(self, awaited: str) -> Iterator[None]:
        """Yield now and then while there is hope; raises CannotStartError when there is none."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self._supervisor.gave_up is None:
            yield
            time.sleep(LOOK_EVERY_S)
        self._fail(awaited)

    def _fail(self, awaited: str) -> NoReturn:
        raise CannotStartError(
            f"the {awaited} does not come up; {self.log.path} has all it said, which ends with:",
            *self.log.last(awaited, SUPERVISOR),
        )


@contextmanager
def own_service(settings: Settings, steps: Steps, *, log_name: str) -> Iterator[Client]:
    """Start everything and say so; a client of it, and at the end of the block nothing is left."""
    began = time.time()
    settings = _prepare(settings, steps)
    service = LocalService(settings, log_name=log_name)
    steps.say(f"starting the API and the dispatcher; they log to {service.log.path}")
    with service.running(), Client.connect(settings) as client:
        service.wait_for_api(client)
        steps.say(f"the API answers at {client.url}; waiting for Ray and the devices")
        for node in service.wait_for_nodes(client, since=began):
            steps.say(f"{node.name}: {node.hardware.accelerator}, room for {node.num_slots} ranks")
        yield client
        steps.say("stopping")
    steps.say("everything is stopped")


def _prepare(settings: Settings, steps: Steps) -> Settings:
    """Make home and schema; take another port where the usual one is in use."""
    prepare_home(settings)
    steps.say(f"database {prepare_database(settings)}")
    port = settings.port
    if port == 0 or not is_port_free(settings.host, port):
        port = free_port(settings.host)
        if settings.port:
            steps.say(f"port {settings.port} is in use, taking {port}")
    return settings.model_copy(update={"port": port, "url": ""})
