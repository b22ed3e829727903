import numpy as np
import pytest

from service.analysis.changepoints.noise import autocorrelation, spread_of_differences
from tests.unit.analysis.changepoints.nights import correlated, steps


def test_spread_does_not_see_changes_of_level() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(400)
    level = steps((100, 0.0), (200, 30.0), (100, -5.0))
    assert spread_of_differences(noise + level) == pytest.approx(1.0, rel=0.15)


def test_spread_of_coarse_values_is_not_zero() -> None:
    values = np.where(np.arange(60) % 5 == 0, 11.0, 10.0)
    assert 0.1 < spread_of_differences(values) < 1


def test_nothing_scatters_in_a_constant_or_in_one_night() -> None:
    assert spread_of_differences(np.ones(20)) == 0
    assert spread_of_differences(np.ones(1)) == 0
    assert autocorrelation(np.ones(20), (10,), largest=0.9) == 0


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_autocorrelation_is_seldom_too_small(rho: float) -> None:
    level = steps((60, 1.0), (60, 1.2))
    found = [
        autocorrelation(correlated(level, seed=seed, rho=rho), (60,), largest=0.9)
        for seed in range(100)
    ]
    assert np.mean(np.array(found) >= rho) > 0.8
    assert np.median(found) < rho + 0.2


def test_autocorrelation_has_a_largest_value() -> None:
    assert autocorrelation(np.arange(100.0), (), largest=0.9) == 0.9
