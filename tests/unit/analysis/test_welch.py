"""What a ratio's interval rests on: replicates, trials that measured both sides, or nights."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from service.analysis.comparison import Ratio, compare
from service.analysis.interval import Values


def test_the_interval_of_a_point_is_welchs() -> None:
    rng = np.random.default_rng(3)
    old, new = rng.lognormal(5, 0.1, (1, 4)), rng.lognormal(5.5, 0.3, (1, 3))
    found = compare(old, new, tolerance=0.05).points[0]
    expected = stats.ttest_ind(np.log(new[0]), np.log(old[0]), equal_var=False)
    bounds = expected.confidence_interval(0.95)
    assert found.low == pytest.approx(np.exp(bounds.low))
    assert found.high == pytest.approx(np.exp(bounds.high))
    assert found.value == pytest.approx(np.exp(np.log(new).mean() - np.log(old).mean()))


def test_the_interval_of_what_was_measured_by_turns_is_students() -> None:
    rng = np.random.default_rng(3)
    luck = rng.lognormal(5, 0.5, (1, 5))
    old, new = luck * rng.lognormal(0, 0.01, (1, 5)), luck * rng.lognormal(0.2, 0.01, (1, 5))
    found = compare(old, new, tolerance=0.05, is_interleaved=True)
    expected = stats.ttest_rel(np.log(new[0]), np.log(old[0])).confidence_interval(0.95)
    for ratio in (found.points[0], found.overall):
        assert ratio is not None
        assert (ratio.low, ratio.high) == pytest.approx(
            (np.exp(expected.low), np.exp(expected.high))
        )
    assert compare(old[:, :1], new[:, :1], tolerance=0.05, is_interleaved=True).points[0].p is None


def test_nights_that_differ_more_than_their_replicates_widen_the_interval() -> None:
    """Three replicates of one night share its luck: they are not three nights."""
    rng = np.random.default_rng(5)
    num_points, nights, per_night = 300, 6, 3
    columns = [slice(night * per_night, (night + 1) * per_night) for night in range(nights)]

    def measured() -> Values:
        luck = np.repeat(rng.normal(0, 0.05, (num_points, nights)), per_night, axis=1)
        return np.asarray(np.exp(5 + luck + rng.normal(0, 0.005, luck.shape)))

    old, new = measured(), measured()
    naive = compare(old, new, tolerance=0.01).points
    honest = compare(old, new, tolerance=0.01, sweeps=(columns, columns)).points

    def coverage(ratios: Sequence[Ratio]) -> float:
        return float(np.mean([(r.low or 0) < 1 < (r.high or 0) for r in ratios]))

    assert coverage(naive) < 0.9
    assert coverage(honest) > 0.92
