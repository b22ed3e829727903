"""The dispatcher's loop over both databases: every trial is accounted for exactly once."""

import pytest
import structlog
from sqlalchemy import update

from service.analysis.schedules.spec import ScheduleSpec
from service.store import fleet, schedules, sweeps
from service.store.models.schedule import ScheduleRow
from service.store.states import AttemptOutcome, SweepState, TrialState
from tests.integration.dispatch.bench import Bench
from tests.integration.store.builders import TTL, find, submit, sweep_spec
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


def test_a_sweep_runs_to_its_end_with_one_result_for_each_trial(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=3, replicates=2))
    dispatcher, executor = bench.dispatcher()
    bench.finish(dispatcher, sweep.id)
    assert bench.states(sweep.id) == {TrialState.SUCCEEDED: 12}
    assert bench.num_results() == 12
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
    bench.until(dispatcher, lambda: bench.num_results() == 2)
    with bench.sessions.reading() as session:
        (fired,) = schedules.decisions(session, schedule.id, limit=5).items
    assert fired.sweep_id is not None
    assert bench.states(fired.sweep_id) == {TrialState.SUCCEEDED: 2}


def test_a_schedule_that_cannot_be_decided_is_told_once_and_stops_no_other(bench: Bench) -> None:
    asked = {"cron": "* * * * *", "sweep": sweep_spec(batches=1)}
    with bench.sessions.writing() as session:
        broken, other = [
            schedules.create(
                session, ScheduleSpec.model_validate({**asked, "name": name}), created_by="test"
            )
            for name in ("broken", "other")
        ]
        nowhere = update(ScheduleRow).where(ScheduleRow.id == broken.id).values(zone="No/Where")
        session.execute(nowhere)
    bench.time.pass_(58)
    dispatcher, _ = bench.dispatcher()
    with structlog.testing.capture_logs() as logs:
        bench.until(dispatcher, lambda: bench.num_results() == 2)
        until = bench.time.elapsed + 10
        bench.until(dispatcher, lambda: bench.time.elapsed > until)
    told = [one["schedule_id"] for one in logs if one["event"] == "schedule_not_decided"]
    assert told == [broken.id]
    with bench.sessions.reading() as session:
        assert schedules.decisions(session, other.id, limit=5).items


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
    assert bench.num_results() == 1


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


def test_a_degree_that_fits_no_node_fails_again_where_it_is_put_back(bench: Bench) -> None:
    sweep = submit(bench.sessions, sweep_spec(batches=1, degrees=(1, 8)))
    dispatcher, executor = bench.dispatcher()
    bench.finish(dispatcher, sweep.id)
    with bench.sessions.writing() as session:
        sweeps.retry(session, sweep.id)
    bench.finish(dispatcher, sweep.id)
    assert bench.states(sweep.id) == {TrialState.SUCCEEDED: 1, TrialState.FAILED: 1}
    told = [row.message for row in bench.attempts() if row.code == "no_such_node"]
    assert told[1] == "tp_degree 8 does not fit the 4 devices of node n1"
    assert [len(group.orders) for group in executor.groups.started] == [1]


@pytest.mark.parametrize("name", ["gpu", "n1"], ids=["another name", "the same name"])
def test_a_sweep_for_the_nodes_of_another_pool_is_left_to_it(bench: Bench, name: str) -> None:
    with bench.sessions.writing() as session:
        fleet.register(session, node(GPU, name=name), pool="gpus")
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
