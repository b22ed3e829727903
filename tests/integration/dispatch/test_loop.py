"""The dispatcher's loop over both databases: every trial is accounted for exactly once."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from service.analysis.schedules.spec import ScheduleSpec
from service.dispatch.identity import Owner
from service.dispatch.loop import EXIT_OK, EXIT_TRY_AGAIN
from service.dispatch.placement import offer_of
from service.store import fleet, schedules, sweeps
from service.store.engine import Sessions
from service.store.models.result import ResultRow
from service.store.states import AttemptOutcome, SweepState, TrialState
from tests.integration.dispatch.bench import Bench
from tests.integration.store.builders import TTL, claimed, find, submit, sweep_spec
from tests.unit.dispatch.builders import GPU, node
from workers.contract.group_events import Blame, Loss

DIED = Loss(
    blame=Blame.RANK,
    code="rank_died",
    message="rank 1 died by SIGKILL",
    rank=1,
    signal=9,
    log_tail="last line",
)
NO_MEMORY = Loss(blame=Blame.POINT, code="out_of_memory", message="no room", is_final=True)


@pytest.fixture
def bench(engine: Engine) -> Bench:
    return Bench(engine)


def num_results(bench: Bench) -> int:
    with bench.sessions.reading() as session:
        return len(list(session.scalars(select(ResultRow.trial_id))))


def test_a_sweep_runs_to_its_end_with_one_result_for_each_trial(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=3, replicates=2))
    dispatcher, executor = bench.dispatcher()
    bench.finish(dispatcher, sweep.id)
    assert bench.states(sweep.id) == {TrialState.SUCCEEDED: 12}
    assert num_results(bench) == 12
    assert [row.outcome for row in bench.attempts()] == [AttemptOutcome.SUCCEEDED] * 12
    assert len(executor.groups.started) == 2, "one set of processes for each replicate"
    assert [len(group.orders) for group in executor.groups.started] == [6, 6]


def test_two_nodes_measure_two_replicates_at_the_same_time(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=2, replicates=2))
    dispatcher, executor = bench.dispatcher(node(name="a"), node(name="b"))
    bench.finish(dispatcher, sweep.id)
    assert sorted(group.group_id for group in executor.groups.started) == ["a-g0", "b-g1"]
    for group in executor.groups.started:
        assert len({order.replicate for order in group.orders}) == 1


def test_a_schedule_that_is_due_is_started_and_measured(bench: Bench) -> None:
    asked = {"name": "often", "cron": "* * * * *", "sweep": sweep_spec(batches=1)}
    with bench.sessions.writing() as session:
        spec = ScheduleSpec.model_validate(asked)
        schedule = schedules.create(session, spec, created_by="test")
    bench.time.pass_(58)
    dispatcher, _ = bench.dispatcher()
    bench.until(dispatcher, lambda: num_results(bench) == 2)
    with bench.sessions.reading() as session:
        (fired,) = schedules.decisions(session, schedule.id, limit=5).items
    assert fired.sweep_id is not None
    assert bench.states(fired.sweep_id) == {TrialState.SUCCEEDED: 2}


def test_a_node_is_registered_when_it_arrives(bench: Bench) -> None:
    dispatcher, _ = bench.dispatcher(node(name="a"))
    dispatcher.turn()
    with bench.sessions.reading() as session:
        assert [found.facts.name for found in fleet.nodes(session)] == ["a"]


def test_a_trial_whose_rank_died_is_tried_again_and_the_cause_is_kept(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(2,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    executor.groups.last.fail(DIED)
    executor.measures = True
    bench.finish(dispatcher, sweep.id)
    first, second = bench.attempts()
    assert (first.outcome, second.outcome) == (AttemptOutcome.FAILED, AttemptOutcome.SUCCEEDED)
    assert (first.code, first.rank, first.signal, first.node) == ("rank_died", 1, 9, "n1")
    assert first.log_tail == "last line"
    assert num_results(bench) == 1


def test_a_trial_that_keeps_losing_ranks_fails_past_its_budget(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(2,)))
    dispatcher, executor = bench.dispatcher(*(node(name=f"n{i}") for i in range(4)))
    executor.measures = False

    def fail_whatever_runs() -> None:
        for group in executor.groups.started:
            if group.orders and not group.is_ended:
                group.fail(DIED)

    executor.on_wait = fail_whatever_runs
    bench.finish(dispatcher, sweep.id)
    assert bench.states(sweep.id) == {TrialState.FAILED: 1}
    assert len(bench.attempts()) == 3


def test_what_the_point_cannot_do_fails_once_and_the_rest_goes_on(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=3, degrees=(2,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    executor.groups.last.refuse(NO_MEMORY)
    executor.measures = True
    dispatcher.turn()
    bench.finish(dispatcher, sweep.id)
    assert bench.states(sweep.id) == {TrialState.SUCCEEDED: 2, TrialState.FAILED: 1}
    (failed,) = [row for row in bench.attempts() if row.outcome is AttemptOutcome.FAILED]
    assert (failed.code, failed.is_final) == ("out_of_memory", True)
    assert len(executor.groups.started) == 1


def test_a_trial_that_takes_longer_than_its_lease_is_kept_by_heartbeats(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    for _ in range(30):
        bench.time.pass_(TTL.total_seconds() / 6)
        assert dispatcher.turn()
    executor.measures = True
    bench.finish(dispatcher, sweep.id)
    assert len(bench.attempts()) == 1


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
    assert num_results(bench) == 0


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
    assert num_results(bench) == 0
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


def test_cancelling_reaches_the_ranks_within_a_second(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=3, degrees=(1,)))
    dispatcher, executor = bench.dispatcher()
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    with bench.sessions.writing() as session:
        sweeps.cancel(session, sweep.id)
    began = bench.time.elapsed
    bench.finish(dispatcher, sweep.id)
    assert bench.time.elapsed - began < 1
    assert executor.groups.last.is_ended
    assert bench.states(sweep.id) == {TrialState.CANCELLED: 3}


def test_what_fits_no_known_machine_fails_within_ten_seconds_and_says_what_there_is(
    bench: Bench,
) -> None:
    too_large = submit(bench.sessions, sweep_spec(batches=1, degrees=(8,)))
    elsewhere = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,), accelerator="H100"))
    dispatcher, _ = bench.dispatcher()
    bench.finish(dispatcher, too_large.id, elsewhere.id)
    assert bench.time.elapsed < 10
    codes = {row.code for row in bench.attempts()}
    assert codes == {"no_such_node"}
    assert all("n1: 4 x Test CPU" in (row.message or "") for row in bench.attempts())


def test_the_degrees_that_fit_are_measured_though_others_do_not(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1, 2, 8)))
    dispatcher, executor = bench.dispatcher()
    bench.finish(dispatcher, sweep.id)
    assert find(bench.sessions, sweep.id).state is SweepState.PARTIAL
    assert bench.states(sweep.id) == {TrialState.SUCCEEDED: 2, TrialState.FAILED: 1}
    assert executor.groups.last.plan.num_ranks == 2


def test_a_sweep_for_the_nodes_of_another_pool_is_left_to_it(bench: Bench) -> None:
    with bench.sessions.writing() as session:
        fleet.register(session, node(GPU, name="gpu"), pool="gpus")
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,), accelerator="GPU"))
    dispatcher, _ = bench.dispatcher()
    for _ in range(120):
        dispatcher.turn()
    assert bench.time.elapsed > 10
    assert bench.states(sweep.id) == {TrialState.QUEUED: 1}


def test_the_trial_of_a_node_that_left_is_moved(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    dispatcher, executor = bench.dispatcher(node(name="a"), node(name="b"))
    executor.measures = False
    bench.until(dispatcher, lambda: executor.groups.started and executor.groups.last.orders)
    executor.lose("a")
    executor.measures = True
    bench.finish(dispatcher, sweep.id)
    first, second = bench.attempts()
    assert (first.code, first.node) == ("host_lost", "a")
    assert second.outcome is AttemptOutcome.SUCCEEDED
    assert executor.groups.last.group_id.startswith("b-")


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

    @contextmanager
    def writing(self) -> Iterator[Session]:
        if self.is_down:
            raise OperationalError("BEGIN", {}, ConnectionError("no route"))
        with super().writing() as session:
            yield session


def test_a_result_waits_for_a_database_that_comes_back_in_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.dispatch.loop.RETRY_DATABASE_S", 0)
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    flaky = Flaky(bench.sessions.engine, clock=bench.time.now)
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


def test_a_dispatcher_does_not_outlive_its_lease_while_the_database_is_down(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.dispatch.loop.RETRY_DATABASE_S", 0)
    submit(bench.sessions, sweep_spec(batches=1, degrees=(1,)))
    flaky = Flaky(bench.sessions.engine, clock=bench.time.now)
    dispatcher, executor = bench.dispatcher(sessions=flaky)
    executor.measures = False

    def go_down() -> None:
        flaky.is_down = bool(executor.groups.started and executor.groups.last.orders)

    executor.on_wait = go_down
    assert dispatcher.run() == EXIT_TRY_AGAIN
    assert bench.time.elapsed < TTL.total_seconds()
    assert executor.groups.last.is_ended


def test_a_trial_that_was_put_back_has_its_whole_budget_again(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(2,)))
    dispatcher, executor = bench.dispatcher(*(node(name=f"n{i}") for i in range(8)))
    executor.measures = False

    def fail_whatever_runs() -> None:
        for group in executor.groups.started:
            if group.orders and not group.is_ended:
                group.fail(DIED)

    executor.on_wait = fail_whatever_runs
    bench.finish(dispatcher, sweep.id)
    with bench.sessions.writing() as session:
        sweeps.retry(session, sweep.id)
    bench.finish(dispatcher, sweep.id)
    assert len(bench.attempts()) == 6
