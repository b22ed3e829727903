import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from workers.runtime import scheduling
from workers.runtime.scheduling import LOOP, PRIORITY, RUNLOOP, IoThreads

Change = tuple[int, int, int]
"""Thread, policy, priority."""


@contextmanager
def thread_named(name: str) -> Iterator[int]:
    """A thread with that name, for as long as the block lasts; its id."""
    has_name, is_over = threading.Event(), threading.Event()

    def run() -> None:
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name)
        has_name.set()
        is_over.wait()

    thread = threading.Thread(target=run)
    thread.start()
    has_name.wait()
    assert thread.native_id is not None
    yield thread.native_id
    is_over.set()
    thread.join()


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    """What was asked of the scheduler, in place of asking it: tests need no privilege."""
    asked: list[Change] = []

    def record(thread: int, policy: int, param: os.sched_param) -> None:
        asked.append((thread, policy, param.sched_priority))

    monkeypatch.setattr(os, "sched_setscheduler", record)
    return asked


def start(stack: ExitStack, *names: str) -> list[int]:
    return [stack.enter_context(thread_named(name)) for name in names]


def test_gloos_threads_are_raised_as_equals_that_take_turns(changes: list[Change]) -> None:
    io_threads = IoThreads()
    with ExitStack() as stack:
        with io_threads.raised():
            started = start(stack, RUNLOOP, LOOP, RUNLOOP)
        assert sorted(changes) == sorted((one, os.SCHED_RR, PRIORITY) for one in started)
    assert io_threads.are_realtime


def test_threads_of_others_stay_what_they_are(changes: list[Change]) -> None:
    io_threads = IoThreads()
    with ExitStack() as stack:
        start(stack, LOOP, RUNLOOP, RUNLOOP)  # of an older group
        with io_threads.raised():
            start(stack, "grpc_global_tim", "python")
    assert changes == []
    assert not io_threads.are_realtime


def test_threads_that_give_no_name_in_time_are_not_guessed_at(
    changes: list[Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "NAMING_LIMIT_S", 0)
    io_threads = IoThreads()
    with ExitStack() as stack, io_threads.raised():
        start(stack, LOOP, RUNLOOP, "python")
    assert changes == []
    assert not io_threads.are_realtime


def test_raised_threads_are_ordinary_again_before_their_group_is_taken_apart(
    changes: list[Change],
) -> None:
    io_threads = IoThreads()
    with ExitStack() as stack:
        with io_threads.raised():
            started = start(stack, LOOP, RUNLOOP, RUNLOOP)
        changes.clear()
        io_threads.lower()
    assert sorted(changes) == sorted((one, os.SCHED_OTHER, 0) for one in started)
    assert not io_threads.are_realtime


def test_without_permission_nothing_is_raised_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    io_threads = IoThreads()
    with ExitStack() as stack, io_threads.raised():
        start(stack, LOOP, RUNLOOP, RUNLOOP)
    assert not io_threads.are_realtime
