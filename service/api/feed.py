"""Events of sweeps for any number of listeners, from one small reader of the table.

Listeners that wait at the same place share one read, and all places are read in one thread with a
session of its own: listeners cost the routes neither threads nor connections. The table is read
only when something was committed, which is so cheap to ask that events arrive within milliseconds.
"""

import asyncio
import contextlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC

import anyio
import anyio.to_thread
from sqlalchemy.exc import SQLAlchemyError

from service.errors import BusyError
from service.store import events
from service.store.commits import CommitWatch
from service.store.engine import Sessions
from service.store.states import EventKind
from service.telemetry import get_logger

BATCH = 200

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a listener is: the sweep and the number of the last event it has seen."""

    sweep_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it goes over the wire."""

    seq: int
    kind: EventKind
    text: str


Frames = tuple[Frame, ...]


@dataclass(slots=True)
class _Wait:
    """Listeners waiting at one place."""

    found: asyncio.Future[Frames]
    num_listeners: int = 0


@dataclass(slots=True)
class Feed:
    """Lives in one event loop. `poll_s` is how often commits are asked for while anyone waits."""

    sessions: Sessions
    commits: CommitWatch
    poll_s: float
    max_listeners: int
    num_listeners: int = 0
    is_closed: bool = False
    _waiting: dict[Place, _Wait] = field(default_factory=dict)
    _read: frozenset[Place] = frozenset()
    """Places that had nothing at the last commit we know of."""
    _reader: asyncio.Task[None] | None = None
    _limiter: anyio.CapacityLimiter | None = None

    def check_room(self) -> None:
        """Raise BusyError where one more listener would be too many."""
        if self.num_listeners >= self.max_listeners:
            raise BusyError(f"{self.max_listeners} event streams are open; close one or poll")

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Count a listener while it listens; BusyError where it is one too many."""
        self.check_room()
        self.num_listeners += 1
        try:
            yield
        finally:
            self.num_listeners -= 1

    @property
    def limiter(self) -> anyio.CapacityLimiter:
        """Threads for reading events: few, and not those of the routes."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(2)
        return self._limiter

    async def after(self, place: Place, *, timeout_s: float) -> Frames:
        """Events after the place, as soon as there are any; none on timeout or when closing."""
        if self.is_closed:
            return ()
        wait = self._waiting.get(place)
        if wait is None:
            wait = self._waiting[place] = _Wait(asyncio.get_running_loop().create_future())
        wait.num_listeners += 1
        self._start_reader()
        try:
            done, _ = await asyncio.wait({wait.found}, timeout=timeout_s)
            return wait.found.result() if done else ()
        finally:
            wait.num_listeners -= 1
            if wait.num_listeners == 0 and self._waiting.get(place) is wait:
                del self._waiting[place]

    def close(self) -> None:
        """Let every listener go. Call it in the event loop."""
        self.is_closed = True
        for wait in self._waiting.values():
            if not wait.found.done():
                wait.found.set_result(())
        self._waiting.clear()

    async def wait_closed(self) -> None:
        """Return once the reader has let go of the database."""
        if self._reader is not None:
            await self._reader

    def _start_reader(self) -> None:
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read_while_anyone_waits())

    async def _read_while_anyone_waits(self) -> None:
        while self._waiting:
            places = frozenset(self._waiting)
            try:
                found = await self._look(places)
                self._read = places - found.keys()
            except SQLAlchemyError as error:
                log.warning("event_read_failed", error=str(error))
                found, self._read = {}, frozenset()
            self._hand_out(found)
            await asyncio.sleep(self.poll_s)
        self._read = frozenset()
        self.commits.close()

    async def _look(self, places: frozenset[Place]) -> dict[Place, Frames]:
        """Ask before reading, or a commit between the two would be missed.

        Where that takes microseconds it is asked here: a thread for it would take time from ranks
        that measure on the same cores.
        """
        if not self.commits.is_instant:
            return await anyio.to_thread.run_sync(self._look_up, places, limiter=self.limiter)
        if not self._may_find(places):
            return {}
        return await anyio.to_thread.run_sync(read, self.sessions, places, limiter=self.limiter)

    def _look_up(self, places: frozenset[Place]) -> dict[Place, Frames]:
        return read(self.sessions, places) if self._may_find(places) else {}

    def _may_find(self, places: frozenset[Place]) -> bool:
        has_moved = self.commits.has_moved()
        return has_moved or not places <= self._read

    def _hand_out(self, found: dict[Place, Frames]) -> None:
        for place, frames in found.items():
            wait = self._waiting.pop(place, None)
            if wait is not None and not wait.found.done():
                wait.found.set_result(frames)


def read(sessions: Sessions, places: Collection[Place]) -> dict[Place, Frames]:
    """The next events after each place that has any, in one short transaction."""
    found: dict[Place, Frames] = {}
    with sessions.reading() as session:
        for place in places:
            rows = events.after(session, place.sweep_id, seq=place.seq, limit=BATCH)
            if rows:
                found[place] = tuple(_frame(row) for row in rows)
    return found


def _frame(event: events.Event) -> Frame:
    body = {
        "sweep_id": event.sweep_id,
        "seq": event.seq,
        "kind": event.kind,
        "created_at": event.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        **event.data,
    }
    data = json.dumps(body, separators=(",", ":"), allow_nan=False)
    text = f"id: {event.seq}\nevent: {event.kind}\ndata: {data}\n\n"
    return Frame(seq=event.seq, kind=event.kind, text=text)
