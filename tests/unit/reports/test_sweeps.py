from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.reports.sweeps import PointReport, SweepReport, progress
from service.store.points import Point, PointError
from service.store.states import PointState, SweepState, TrialState
from service.store.sweep import Sweep
from tests.unit.analysis.trials import SHAPE, point
from workers.contract.axes import Block
from workers.contract.sweep import SweepSpec

CREATED = datetime(2026, 1, 1, tzinfo=UTC)
SWEEP = Sweep(
    id="s1",
    name="nightly",
    spec=SweepSpec(models=(SHAPE,), blocks=(Block.MLP,), tp_degree=(1, 2), batch=(1, 2, 4)),
    created_at=CREATED,
    created_by="local",
    priority=0,
    tags={"commit": "abc"},
    seed=7,
    state=SweepState.RUNNING,
    hardware_key=None,
    num_points=6,
    num_rejected=1,
    num_trials=18,
    num_done=6,
    counts=dict.fromkeys(TrialState, 0) | {TrialState.QUEUED: 12, TrialState.SUCCEEDED: 6},
    point_counts=dict.fromkeys(PointState, 0) | {PointState.QUEUED: 6, PointState.REJECTED: 1},
    mean_trial_s=0.5,
    cancel_requested_at=None,
    finished_at=None,
)


def test_progress_counts_trials_and_expects_the_rest_at_their_mean() -> None:
    found = progress(SWEEP)
    assert found.fraction == pytest.approx(1 / 3)
    assert found.eta_s == pytest.approx(6.0)


def test_nothing_is_expected_before_the_first_trial() -> None:
    assert progress(replace(SWEEP, num_done=0, mean_trial_s=None)).eta_s is None


@pytest.mark.parametrize("state", ["succeeded", "partial", "failed", "cancelled"])
def test_a_sweep_that_is_over_has_nothing_left(state: str) -> None:
    assert progress(replace(SWEEP, state=SweepState(state))).eta_s == 0


def test_a_sweep_shows_its_points_by_state() -> None:
    shown = SweepReport.of(SWEEP)
    assert shown.counts[PointState.QUEUED] == 6
    assert shown.trial_counts[TrialState.SUCCEEDED] == 6
    assert (shown.num_points, shown.num_rejected, shown.tags) == (6, 1, {"commit": "abc"})
    assert SweepReport.model_validate_json(shown.model_dump_json()) == shown


def test_a_point_shows_its_attempts_and_its_last_error() -> None:
    failed = Point(
        id="p1",
        sweep_id="s1",
        position=0,
        spec=point(),
        spec_key=point().spec_key,
        state=PointState.FAILED,
        counts=dict.fromkeys(TrialState, 0) | {TrialState.FAILED: 3},
        num_attempts=9,
        error=PointError(
            trial_id="t1",
            attempt=3,
            code="rank_lost",
            message="rank 1 died",
            rank=1,
            signal=9,
            node="node-1",
            log_tail="Killed",
        ),
        rejection=None,
        paired_with=None,
    )
    shown = PointReport.of(failed)
    assert shown.attempt == 9
    assert shown.error is not None
    assert (shown.error.code, shown.error.rank, shown.error.signal) == ("rank_lost", 1, 9)
    assert PointReport.of(replace(failed, error=None)).error is None
