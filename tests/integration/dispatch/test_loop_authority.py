"""A dispatcher works while pool and leases are its own, and not a moment longer."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from service.dispatch.identity import Owner
from service.dispatch.loop import EXIT_OK, EXIT_TRY_AGAIN
from service.dispatch.placement import offer_of
from service.store import fleet
from service.store.engine import Sessions
from service.store.states import AttemptOutcome, TrialState
from tests.integration.dispatch.bench import Bench
from tests.integration.store.builders import TTL, claimed, find, submit, sweep_spec
from tests.unit.dispatch.builders import node


def test_a_dispatcher_that_slept_past_its_lease_writes_nothing_and_goes(bench: Bench) -> None:
    submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False

    def sleep_while_it_runs() -> None:
        if executor.groups.started and executor.groups.last.orders:
            executor.groups.last.finish()
            bench.time.pass_(TTL.total_seconds() + 1)

    executor.on_wait = sleep_while_it_runs
    assert dispatcher.run() == EXIT_TRY_AGAIN
    assert executor.groups.last.is_ended
    assert bench.num_results() == 0


def test_a_result_that_comes_after_another_took_over_is_refused(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    with bench.sessions.writing() as session:
        (trial,) = bench.trials()
        session.merge(trial).attempt += 1
    executor.groups.last.finish()
    assert dispatcher.turn()
    assert bench.num_results() == 0
    assert bench.states(sweep.id) == {TrialState.RUNNING: 1}


def test_a_lease_that_was_taken_away_ends_its_ranks(bench: Bench) -> None:
    submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    with bench.sessions.writing() as session:
        (trial,) = bench.trials()
        session.merge(trial).attempt += 1
    bench.time.pass_(TTL.total_seconds() / 3)
    dispatcher.turn()
    assert executor.groups.last.is_ended


def test_leases_that_others_let_expire_are_taken_back(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    claimed(bench.sessions, owner="gone", offer=offer_of(node()))
    bench.time.pass_(TTL.total_seconds() + 1)
    dispatcher, _ = bench.dispatcher()
    bench.finish(dispatcher, sweep.id)
    assert [row.outcome for row in bench.attempts()] == [
        AttemptOutcome.EXPIRED,
        AttemptOutcome.SUCCEEDED,
    ]


def hold_pool(bench: Bench, owner: str) -> None:
    with bench.sessions.writing() as session:
        assert fleet.lease_pool(session, "default", owner=owner, ttl=TTL)


def test_a_second_dispatcher_of_a_pool_waits_until_the_first_is_gone(bench: Bench) -> None:
    hold_pool(bench, str(Owner.of_this_process()))
    dispatcher, executor = bench.dispatcher()
    waits = 0

    def count() -> None:
        nonlocal waits
        waits += 1
        if waits == 20:
            dispatcher.stop()

    executor.on_wait = count
    assert dispatcher.run() == EXIT_OK
    assert waits == 20
    assert executor.groups.started == []


def test_an_owner_known_to_be_dead_loses_pool_and_trials_at_once(bench: Bench) -> None:
    dead = str(Owner(host=Owner.of_this_process().host, pid=1, started="no", nonce="x"))
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    hold_pool(bench, dead)
    claimed(bench.sessions, owner=dead, offer=offer_of(node()))
    dispatcher, executor = bench.dispatcher()
    executor.on_wait = lambda: (
        dispatcher.stop() if find(bench.sessions, sweep.id).finished_at else None
    )
    assert dispatcher.run() == EXIT_OK
    assert bench.time.elapsed < TTL.total_seconds() / 2
    first, second = bench.attempts()
    assert (first.outcome, second.outcome) == (AttemptOutcome.EXPIRED, AttemptOutcome.SUCCEEDED)
    assert first.message is not None
    assert dead in first.message


def test_a_graceful_stop_finishes_what_runs_and_gives_back_what_does_not(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=2, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False

    def stop_when_it_runs() -> None:
        if executor.groups.started and executor.groups.last.orders:
            dispatcher.stop()
            executor.on_wait = lambda: setattr(executor, "measures", True)

    executor.on_wait = stop_when_it_runs
    assert dispatcher.run() == EXIT_OK
    assert bench.states(sweep.id) == {TrialState.SUCCEEDED: 1, TrialState.QUEUED: 1}
    assert all(group.is_ended for group in executor.groups.started)
    hold_pool(bench, "the next")


def test_a_graceful_stop_does_not_wait_for_ever_and_charges_nothing(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    executor.on_wait = lambda: (
        dispatcher.stop()
        if executor.groups.started and executor.groups.last.orders and bench.time.elapsed < 2
        else None
    )
    assert dispatcher.run() == EXIT_OK
    assert bench.states(sweep.id) == {TrialState.QUEUED: 1}
    assert bench.trials()[0].num_charged == 0
    assert [row.outcome for row in bench.attempts()] == [AttemptOutcome.RELEASED]


class Flaky(Sessions):
    """A database that does not answer while it is down."""

    is_down = False
    num_refusals = 0
    """So many more, then it is back."""

    @contextmanager
    def writing(self) -> Iterator[Session]:
        self.num_refusals -= 1
        if self.is_down or self.num_refusals >= 0:
            raise OperationalError("BEGIN", {}, ConnectionError("no route"))
        with super().writing() as session:
            yield session


@pytest.fixture
def flaky(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Flaky:
    """The bench's database, that is asked again at once."""
    monkeypatch.setattr("service.dispatch.loop.RETRY_DATABASE_S", 0)
    return Flaky(bench.sessions.engine, clock=bench.time.now)


def test_a_result_waits_for_a_database_that_comes_back_in_time(bench: Bench, flaky: Flaky) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher(sessions=flaky)
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    flaky.is_down = True
    executor.measures = True
    for _ in range(20):
        assert dispatcher.turn()
    flaky.is_down = False
    bench.finish(dispatcher, sweep.id)
    assert [row.outcome for row in bench.attempts()] == [AttemptOutcome.SUCCEEDED]


def test_a_graceful_stop_waits_for_the_database_with_what_was_measured(
    bench: Bench, flaky: Flaky
) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher(sessions=flaky)
    executor.measures = False

    def finish_and_stop_while_it_is_away() -> None:
        if executor.groups.started and executor.groups.last.orders:
            executor.on_wait = lambda: None
            executor.groups.last.finish()
            flaky.num_refusals = 3
            dispatcher.stop()

    executor.on_wait = finish_and_stop_while_it_is_away
    assert dispatcher.run() == EXIT_OK
    assert bench.states(sweep.id) == {TrialState.SUCCEEDED: 1}
    assert bench.num_results() == 1
    hold_pool(bench, "the next")


def test_a_graceful_stop_ends_with_the_lease_where_the_database_stays_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    flaky = Flaky(bench.sessions.engine, clock=bench.time.now)
    dispatcher, executor = bench.dispatcher(sessions=flaky)
    executor.measures = False
    monkeypatch.setattr("service.dispatch.loop.time.sleep", bench.time.pass_)

    def stop_while_it_is_away() -> None:
        if executor.groups.started and executor.groups.last.orders:
            executor.on_wait = lambda: None
            flaky.is_down = True
            dispatcher.stop()

    executor.on_wait = stop_while_it_is_away
    assert dispatcher.run() == EXIT_TRY_AGAIN
    assert bench.time.elapsed < TTL.total_seconds()
    assert executor.groups.last.is_ended


def test_a_dispatcher_does_not_outlive_its_lease_while_the_database_is_down(
    bench: Bench, flaky: Flaky
) -> None:
    submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher(sessions=flaky)
    executor.measures = False

    def go_down() -> None:
        flaky.is_down = bool(executor.groups.started and executor.groups.last.orders)

    executor.on_wait = go_down
    assert dispatcher.run() == EXIT_TRY_AGAIN
    assert bench.time.elapsed < TTL.total_seconds()
    assert executor.groups.last.is_ended
