"""Who runs where: compute threads pinned, gloo's IO threads above them.

A gloo IO thread that shares its rank's core waits for the scheduler's tick (4 ms) unless it may
preempt the compute thread. SCHED_FIFO at the lowest priority does that; it needs CAP_SYS_NICE.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def pin(core: int) -> None:
    """Bind the calling thread, and threads it will start, to one core."""
    os.sched_setaffinity(0, {core})


def usable_cores() -> tuple[int, ...]:
    """Cores this process may run on, in order."""
    return tuple(sorted(os.sched_getaffinity(0)))


class IoThreads:
    """Threads that a library started, and whether they run above the compute threads."""

    def __init__(self) -> None:
        self.are_realtime = False

    @contextlib.contextmanager
    def raised(self) -> Iterator[None]:
        """Raise every thread that appears inside the block to SCHED_FIFO 1, where permitted."""
        before = _thread_ids()
        yield
        started = _thread_ids() - before
        try:
            for thread in started:
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(1))
        except PermissionError:
            self.are_realtime = False
        else:
            self.are_realtime = bool(started) or self.are_realtime


def _thread_ids() -> set[int]:
    return {int(entry.name) for entry in Path("/proc/self/task").iterdir()}
