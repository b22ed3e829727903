"""Who runs where: compute threads pinned, gloo's threads above them.

A gloo thread that shares its rank's core waits for the scheduler's tick (4 ms) unless it may
preempt the compute thread. A real-time policy does that; it needs CAP_SYS_NICE.

The policy is SCHED_RR, at one priority for all of them, because they wait for one another without
sleeping: gloo's own thread polls as long as a message waits behind a connection's lock that one of
torch's holds (gloo/transport/tcp/pair.cc, handleEvents), and torch's yield until gloo's has let go
of a buffer (gloo/common/memory.h, ShareableNonOwningPtr). Under SCHED_FIFO, or at two priorities,
the one that waits may keep the core for ever from the one it waits for, and the group hangs.
"""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LOOP, RUNLOOP = "gloo_tcp_loop", "pt_gloo_runloop"
"""What gloo's thread and torch's call themselves."""
PRIORITY = 1
RUNLOOPS_PER_LOOP = 2
"""That torch starts beside gloo's one."""
NAMING_LIMIT_S = 2.0
"""A thread names itself when it first runs, which on a busy core may be late."""


def pin(core: int) -> None:
    """Bind the calling thread, and threads it will start, to one core."""
    os.sched_setaffinity(0, {core})


def usable_cores() -> tuple[int, ...]:
    """Cores this process may run on, in order."""
    return tuple(sorted(os.sched_getaffinity(0)))


class IoThreads:
    """The threads that carry gloo's messages, and whether they run above the compute threads."""

    def __init__(self) -> None:
        self._raised: list[int] = []

    @property
    def are_realtime(self) -> bool:
        """False where it is not permitted, or the threads could not be told from others."""
        return bool(self._raised)

    @contextlib.contextmanager
    def raised(self) -> Iterator[None]:
        """Raise gloo's threads that appear inside the block, where permitted. No one else's."""
        before = _thread_ids()
        yield
        with contextlib.suppress(PermissionError):
            for thread in _find_started(before):
                os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(PRIORITY))
                self._raised.append(thread)

    def lower(self) -> None:
        """Make them ordinary again, before a thread that is ordinary takes their group apart."""
        while self._raised:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(self._raised.pop(), os.SCHED_OTHER, os.sched_param(0))


def _find_started(before: set[int]) -> list[int]:
    """Those of gloo and torch that are not in `before`; none where some stay nameless."""
    deadline = time.monotonic() + NAMING_LIMIT_S
    while True:
        names = {thread: _name_of(thread) for thread in _thread_ids() - before}
        counts = Counter(names.values())
        if counts[RUNLOOP] == RUNLOOPS_PER_LOOP * counts[LOOP]:
            return [thread for thread, name in names.items() if name in {LOOP, RUNLOOP}]
        if time.monotonic() > deadline:
            return []
        time.sleep(0.001)


def _thread_ids() -> set[int]:
    return {int(entry.name) for entry in Path("/proc/self/task").iterdir()}


def _name_of(thread: int) -> str:
    try:
        return Path(f"/proc/self/task/{thread}/comm").read_text().strip()
    except OSError:  # it has ended
        return ""
