"""Dispatchers that change two sweeps lock them in one order: none waits for another in a ring.

On SQLite they begin one by one.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from service.dispatch.loop import EXIT_OK, Dispatcher
from service.store import sweep_changes
from service.store.sweep import Sweep
from tests.integration.dispatch.bench import Bench, FakeExecutor
from tests.integration.store.builders import find, submit, sweep_spec
from tests.integration.store.locks import is_anyone_waiting
from tests.unit.dispatch.builders import node
from tests.waiting import wait_until

Result = TypeVar("Result")

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


def begin(bench: Bench) -> tuple[Dispatcher, FakeExecutor, list[Sweep]]:
    """Two sweeps of one trial; the node that is asked first holds that of the second sweep."""
    one_trial = sweep_spec(batches=1, degrees=(1,))
    first = submit(bench.sessions, one_trial)
    second = submit(bench.sessions, one_trial.model_copy(update={"priority": 1}))
    dispatcher, executor = bench.dispatcher(node(name="a"), node(name="b"))
    executor.measures = False
    dispatcher.turn()
    return dispatcher, executor, [first, second]


def are_measured(executor: FakeExecutor) -> bool:
    return [len(group.orders) for group in executor.groups.started] == [1, 1]


def while_another_locks(bench: Bench, sweeps: list[Sweep], act: Callable[[], Result]) -> Result:
    """Do something that changes both sweeps while somebody who has the first takes the second."""
    first, second = sweeps
    with ThreadPoolExecutor(1) as pool:
        with bench.sessions.writing() as session:
            sweep_changes.lock_sweep(session, first.id)
            acting = pool.submit(act)
            wait_until(lambda: is_anyone_waiting(bench.sessions), within_s=20)
            sweep_changes.lock_sweep(session, second.id)
        return acting.result()


def test_trials_of_two_sweeps_start_in_the_order_of_their_sweeps(bench: Bench) -> None:
    dispatcher, executor, sweeps = begin(bench)
    assert while_another_locks(bench, sweeps, dispatcher.turn)
    assert are_measured(executor)


def test_results_of_two_sweeps_are_written_in_the_order_of_their_sweeps(bench: Bench) -> None:
    dispatcher, executor, sweeps = begin(bench)
    bench.until(dispatcher, lambda: are_measured(executor))
    executor.measures = True
    assert while_another_locks(bench, sweeps, dispatcher.turn)
    assert bench.num_results() == 2


def test_trials_of_two_sweeps_are_given_back_in_the_order_of_their_sweeps(bench: Bench) -> None:
    dispatcher, executor, sweeps = begin(bench)
    bench.until(dispatcher, lambda: are_measured(executor))
    executor.on_wait = dispatcher.stop
    assert while_another_locks(bench, sweeps, dispatcher.run) == EXIT_OK
    assert all(find(bench.sessions, one.id).state == "queued" for one in sweeps)
