"""The pairs of a sweep as they are shown."""

from dataclasses import replace

import pytest

from service.reports.pairs import report
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import measured_trial
from workers.contract.axes import Dtype
from workers.contract.pair import Pair
from workers.contract.point import PointSpec

DTYPES = Pair.model_validate({"axis": "dtype", "values": ["float32", "bfloat16"]})


def both(first: PointSpec, *, replicate: int, ratio: float) -> list[MeasuredTrial]:
    """Two points measured in one trial of one group, the second so much slower."""
    host = 100 * (1 + replicate)
    one = measured_trial(first, replicate=replicate, step_us=host, compute_us=host / 2)
    other = measured_trial(
        first.model_copy(update={"dtype": Dtype.BFLOAT16}),
        replicate=replicate,
        step_us=host * ratio,
        compute_us=host / 2 * ratio,
    )
    return [one, replace(other, id=one.id, paired_with=one.point_id)]


def test_points_are_paired_by_the_trial_that_measured_both() -> None:
    trials = [
        trial
        for batch, ratio in ((1, 1.5), (4, 0.5))
        for replicate in range(5)
        for trial in both(point(batch=batch), replicate=replicate, ratio=ratio)
    ]
    found = report(trials[::-1], sweep_id="s", pair=DTYPES)
    by_batch = {pair.first.spec.batch: pair for pair in found.pairs}
    assert {batch: pair.verdict for batch, pair in by_batch.items()} == {1: "slower", 4: "faster"}
    assert by_batch[1].parts[0].ratio == pytest.approx(1.5)
    assert by_batch[1].num_groups == 5
    assert (by_batch[1].first.value, by_batch[1].second.value) == ("float32", "bfloat16")
    assert "compute" in by_batch[1].changed
    assert "bfloat16 takes 1.500" in by_batch[1].sentence
    assert "what changed: compute 1.500" in by_batch[1].sentence


def test_a_trial_that_lost_a_point_counts_for_no_pair() -> None:
    first, second = both(point(), replicate=0, ratio=2)
    assert report([first], sweep_id="s", pair=DTYPES).pairs == ()
    assert report([second], sweep_id="s", pair=DTYPES).pairs == ()


def test_a_sweep_without_a_pair_has_none() -> None:
    assert report([measured_trial(point())], sweep_id="s", pair=None).pairs == ()
