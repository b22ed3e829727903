"""Following a sweep: the event stream says when to look, the sweep itself says how far it is."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import httpx2

from service.cli.client import Client, resource
from service.cli.failures import AWAY, CliError
from service.cli.wire.sweeps import Sweep

LOOK_EVERY_S = 0.5
"""Each look costs the server some milliseconds, on cores that may be measuring."""
LOOK_AT_LEAST_EVERY_S = 10.0
LONGEST_OUTAGE_S = 120.0


def progress(
    client: Client, sweep_id: str, *, pause: Callable[[float], None] = time.sleep
) -> Iterator[Sweep]:
    """Yield the sweep now, after each burst of events, and at last when it is over."""
    bell = threading.Event()
    listener = threading.Thread(target=_ring_at_events, args=(client, sweep_id, bell), daemon=True)
    sweep = client.get(resource("sweeps", sweep_id)).read(Sweep)
    yield sweep
    listener.start()
    while not sweep.is_over:
        bell.wait(timeout=LOOK_AT_LEAST_EVERY_S)
        pause(LOOK_EVERY_S)
        bell.clear()
        sweep = _read_patiently(client, sweep_id, pause=pause)
        yield sweep
    listener.join(timeout=1)


def events(
    client: Client, sweep_id: str, *, pause: Callable[[float], None] = time.sleep
) -> Iterator[httpx2.ServerSentEvent]:
    """Yield every event once, across broken connections, until the sweep is over and all is said.

    Raises one of AWAY when the server stays away too long.
    """
    last_id, path = "", resource("sweeps", sweep_id, "events")
    while True:
        sweep = _read_patiently(client, sweep_id, pause=pause)
        try:
            for event in client.events(path, last_event_id=last_id):
                last_id = event.id or last_id
                yield event
        except AWAY:
            pause(LOOK_EVERY_S)
        else:
            if sweep.is_over:
                return


def _ring_at_events(client: Client, sweep_id: str, bell: threading.Event) -> None:
    with contextlib.suppress(CliError, httpx2.HTTPError, httpx2.StreamError):
        for _ in events(client, sweep_id):
            bell.set()
    bell.set()


def _read_patiently(client: Client, sweep_id: str, *, pause: Callable[[float], None]) -> Sweep:
    waited_s, pause_s = 0.0, LOOK_EVERY_S
    while True:
        try:
            return client.get(resource("sweeps", sweep_id)).read(Sweep)
        except AWAY:
            if waited_s >= LONGEST_OUTAGE_S:
                raise
        pause(pause_s)
        waited_s += pause_s
        pause_s = min(2 * pause_s, LOOK_AT_LEAST_EVERY_S)
