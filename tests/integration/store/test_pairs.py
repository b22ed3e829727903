"""Two points measured in one trial: queued, leased and stored together, on both databases."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine, inspect

from service.errors import ConflictError
from service.reports import pairs
from service.store import points, queue, results, samples, schema
from service.store.engine import Sessions
from service.store.leases import Failure
from service.store.result_filter import ResultFilter
from service.store.states import PointState
from tests.integration.store.builders import (
    SHAPE,
    claimed,
    find,
    register,
    result_of,
    submit,
)
from workers.contract.axes import Pass
from workers.contract.pair import Pair
from workers.contract.sweep import SweepSpec
from workers.contract.trial import TrialResult


def paired(axis: str = "dtype", *values: str, replicates: int = 2) -> SweepSpec:
    """Two batches, each as a pair."""
    return SweepSpec(
        models=(SHAPE,),
        blocks=("mlp",),
        tp_degree=(2,),
        batch=(1, 2),
        replicates=replicates,
        pair=Pair.model_validate({"axis": axis, "values": values}),
    )


def both(first: TrialResult, *, second_ns: int) -> TrialResult:
    """The result of a pair whose second point took so long in every step."""
    ranks = tuple(
        rank.model_copy(update={"step_ns": (second_ns,) * len(rank.step_ns)})
        for rank in first.samples[Pass.CLEAN]
    )
    second = first.model_copy(update={"samples": {**first.samples, Pass.CLEAN: ranks}})
    return first.model_copy(update={"pair": second})


def run_all(sessions: Sessions, *, count: int) -> None:
    register(sessions)
    for _ in range(count):
        lease = claimed(sessions)
        with sessions.writing() as session:
            queue.complete(session, lease, both(result_of(lease), second_ns=4000))


def test_a_pair_is_one_trial_that_holds_both_points(sessions: Sessions) -> None:
    sweep = submit(sessions, paired("dtype", "float32", "bfloat16"))
    assert (sweep.num_points, sweep.num_trials) == (4, 4), "two pairs, two replicates"
    assert find(sessions, sweep.id) == sweep
    lease = claimed(sessions)
    assert lease.pair_spec is not None
    assert (lease.spec.dtype, lease.pair_spec.dtype) == ("float32", "bfloat16")
    assert lease.pair_spec == lease.spec.model_copy(update={"dtype": "bfloat16"})


def test_a_point_measured_alone_has_no_other(sessions: Sessions) -> None:
    submit(sessions)
    lease = claimed(sessions)
    assert (lease.pair_spec, lease.pair_point_id) == (None, None)


@pytest.mark.parametrize("axis", [("dtype", "float32", "bfloat16"), ("same",)])
def test_both_points_have_their_own_results_and_samples(
    sessions: Sessions, axis: tuple[str, ...]
) -> None:
    sweep = submit(sessions, paired(*axis))
    run_all(sessions, count=4)
    assert find(sessions, sweep.id).state == "succeeded"
    with sessions.reading() as session:
        trials = results.measured(session, ResultFilter(sweep_ids=(sweep.id,)))
        shown = points.page(session, sweep.id, limit=10).items
        judged = pairs.find(session, sweep.id)
        assert [(pair.num_groups, pair.parts[0].ratio) for pair in judged.pairs] == [(2, 2)] * 2
        assert len(trials) == 8
        for trial in trials:
            (own, *_) = samples.find(session, trial.id, trial.point_id)[Pass.CLEAN]
            assert (own.step_ns[0] == 4000) == (trial.paired_with is not None)
            assert (trial.summary.turns is None) == (trial.paired_with is None)
            assert len(samples.collectives(session, trial.id, trial.point_id)) == 1
    first, second = shown[:2]
    assert (first.paired_with, second.paired_with) == (None, first.id)
    assert second.state is PointState.SUCCEEDED
    assert second.counts == first.counts
    seconds = [trial for trial in trials if trial.point_id == second.id]
    assert [trial.replicate for trial in seconds] == [0, 1]
    assert {trial.summary.step_time_us for trial in seconds} == {4}


def test_a_failed_pair_fails_both_points(sessions: Sessions) -> None:
    sweep = submit(sessions, paired("same", replicates=1))
    failure = Failure(code="rank_lost", message="rank 1 died", is_final=True)
    for _ in range(2):
        lease = claimed(sessions)
        with sessions.writing() as session:
            queue.fail(session, lease, failure, retry=False)
    assert find(sessions, sweep.id).point_counts[PointState.FAILED] == 4
    with sessions.reading() as session:
        for point in points.page(session, sweep.id, limit=10).items:
            assert point.state is PointState.FAILED
            assert point.error is not None
            assert points.find(session, point.id) == point


def test_two_results_for_a_trial_of_one_point_are_refused(sessions: Sessions) -> None:
    submit(sessions)
    register(sessions)
    lease = claimed(sessions)
    with pytest.raises(ConflictError, match="of one point"), sessions.writing() as session:
        queue.complete(session, lease, both(result_of(lease), second_ns=4000))
    with sessions.writing() as session:
        queue.complete(session, replace(lease), result_of(lease))


def test_going_back_before_pairs_keeps_the_first_points(engine: Engine, sessions: Sessions) -> None:
    submit(sessions, paired("same", replicates=1))
    run_all(sessions, count=2)
    schema.downgrade(engine, "0005")
    columns = {column["name"] for column in inspect(engine).get_columns("samples")}
    assert "point_id" not in columns
    schema.upgrade(engine)
    schema.check(engine)
    with sessions.reading() as session:
        trials = results.measured(session, ResultFilter())
        assert [trial.summary.step_time_us for trial in trials] == [2, 2]
        for trial in trials:
            assert samples.find(session, trial.id, trial.point_id)[Pass.CLEAN]
