import numpy as np
import pytest

from service.analysis.costmodel.prediction import COVERAGE, spread_of


@pytest.mark.parametrize("num_held_out", [9, 12, 18, 40])
def test_nine_of_ten_further_points_lie_within_the_spread_however_few_were_held_out(
    num_held_out: int,
) -> None:
    errors = np.abs(np.random.default_rng(1).normal(size=(4000, num_held_out + 1)))
    within = [own[-1] <= spread_of(own[:-1].tolist()) for own in errors]
    assert np.mean(within) == pytest.approx(COVERAGE, abs=0.02)


def test_of_too_few_errors_the_largest_is_the_spread() -> None:
    assert spread_of([0.3, 0.1]) == 0.3
