"""Dispatchers that change two sweeps lock them in one order: none waits for another in a ring.

What nobody waits for they leave while another has it. On SQLite they begin one by one.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from sqlalchemy.engine import make_url

from service.dispatch.books import Books
from service.dispatch.loop import EXIT_OK, Dispatcher
from service.dispatch.placement import offer_of
from service.store import queue, sweep_changes, sweeps, unplaceable
from service.store.engine import create_engine
from service.store.states import AttemptOutcome, TrialState
from service.store.sweep import Sweep
from tests.integration.dispatch.bench import Bench, FakeExecutor
from tests.integration.store.builders import TTL, claimed, find, submit, sweep_spec
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


def test_a_result_and_a_start_of_one_turn_wait_for_their_sweeps_in_order(bench: Bench) -> None:
    one_trial = sweep_spec(batches=1, degrees=(1,))
    first = submit(bench.sessions, one_trial)
    second = submit(bench.sessions, one_trial.model_copy(update={"priority": 1}))
    dispatcher, executor = bench.dispatcher(node(name="a"))
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    executor.join(node(name="b"))
    bench.until(dispatcher, lambda: len(executor.groups.started) == 2)
    executor.groups.started[0].finish()
    assert while_another_locks(bench, [first, second], dispatcher.turn)
    assert bench.states(second.id) == {TrialState.SUCCEEDED: 1}
    assert bench.states(first.id) == {TrialState.RUNNING: 1}


def test_a_turn_does_not_hang_with_a_sweep_that_another_keeps_and_loses_nothing(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.dispatch.loop.RETRY_DATABASE_S", 0)
    url = make_url(database).update_query_dict({"options": "-c lock_timeout=50ms"})
    engine = create_engine(url.render_as_string(hide_password=False))
    bench = Bench(engine)
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    executor.groups.last.finish()
    with bench.sessions.writing() as session:
        sweep_changes.lock_sweep(session, sweep.id)
        assert dispatcher.turn()
        assert bench.num_results() == 0
    assert dispatcher.turn()
    assert bench.num_results() == 1
    engine.dispose()


def test_a_lease_that_ran_out_in_a_sweep_that_another_has_locked_holds_up_no_turn(
    bench: Bench,
) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,), priority=1))
    claimed(bench.sessions, owner="gone", offer=offer_of(node()))
    bench.time.pass_(TTL.total_seconds() + 1)
    other = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, _ = bench.dispatcher()
    with bench.sessions.writing() as session:
        sweep_changes.lock_sweep(session, sweep.id)
        bench.finish(dispatcher, other.id)
        assert bench.states(sweep.id) == {TrialState.LEASED: 1}
    bench.finish(dispatcher, sweep.id)
    ended = [one.outcome for one in bench.attempts() if one.owner == "gone"]
    assert ended == [AttemptOutcome.EXPIRED]


def test_what_no_machine_can_run_is_left_while_another_has_its_sweep(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(8,)))
    with bench.sessions.writing() as holder:
        sweep_changes.lock_sweep(holder, sweep.id)
        with bench.sessions.writing() as session:
            assert unplaceable.fail_unplaceable(session, [node()]) == 0
    with bench.sessions.writing() as session:
        assert unplaceable.fail_unplaceable(session, [node()]) == 1


def test_what_a_cancellation_missed_is_left_while_another_has_its_sweep(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=2, degrees=(1,)))
    claimed(bench.sessions, offer=offer_of(node()))
    with bench.sessions.writing() as session:
        assert queue.claim(
            session, owner="owner", offer=offer_of(node()), ttl=TTL, prefer=(sweep.id, 0)
        )
        with bench.sessions.writing() as other:
            sweeps.cancel(other, sweep.id)
        session.rollback()
    assert bench.states(sweep.id)[TrialState.QUEUED] == 1
    with bench.sessions.writing() as holder:
        sweep_changes.lock_sweep(holder, sweep.id)
        with bench.sessions.writing() as session:
            assert queue.recover_expired(session) == []
        assert bench.states(sweep.id)[TrialState.QUEUED] == 1
    with bench.sessions.writing() as session:
        assert queue.recover_expired(session) == []
    assert TrialState.QUEUED not in bench.states(sweep.id)


def test_a_trial_of_a_sweep_that_another_has_locked_is_started_later(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    lease = claimed(bench.sessions, owner="me")
    books = Books(owner="me", pool="default", ttl_s=TTL.total_seconds(), max_attempts=3)
    with bench.sessions.writing() as holder:
        sweep_changes.lock_sweep(holder, sweep.id)
        with bench.sessions.writing() as session:
            assert not books.try_start(session, lease)
    with bench.sessions.writing() as session:
        assert books.try_start(session, lease)
    assert bench.states(sweep.id) == {TrialState.RUNNING: 1}
