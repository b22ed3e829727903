import numpy as np
import pytest
from scipy.special import stdtr

from service.analysis.changepoints.significance import (
    likeliest_step,
    step_statistics,
    superiority,
)
from tests.unit.analysis.changepoints.nights import Values, correlated, steps


def by_least_squares(values: Values, place: int, rho: float) -> float:
    """Statistic t of the step by solving the whitened model outright."""
    n = values.size
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    whiten = np.linalg.inv(np.linalg.cholesky(rho**distance / (1 - rho**2)))
    model = np.stack((np.ones(n), np.arange(n) >= place), axis=1)
    design, target = whiten @ model, whiten @ values
    found = np.linalg.lstsq(design, target, rcond=None)[0]
    variance = float(np.square(target - design @ found).sum()) / (n - 3)
    return float(found[1] / np.sqrt(variance * np.linalg.inv(design.T @ design)[1, 1]))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
def test_statistic_is_that_of_generalised_least_squares(rho: float) -> None:
    values = correlated(steps((9, 1.0), (8, 1.02)), seed=3)
    found = step_statistics(values, rho=rho)
    for place in (1, 5, 9, 16):
        assert found[place] == pytest.approx(by_least_squares(values, place, rho))


def test_p_is_corrected_for_the_places_tried() -> None:
    values = np.random.default_rng(1).standard_normal(30)
    step = likeliest_step(values, rho=0.0, smallest=4)
    t = np.abs(step_statistics(values, rho=0.0))[4:27]
    assert step.at == 4 + int(t.argmax())
    assert step.p == pytest.approx(min(1.0, 23 * 2 * float(stdtr(27, -t.max()))))


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_false_changes_are_no_more_frequent_than_p_says(rho: float) -> None:
    flat = np.ones(40)
    found = [
        likeliest_step(correlated(flat, seed=seed, rho=rho), rho=rho, smallest=4).p
        for seed in range(400)
    ]
    assert np.mean(np.array(found) < 0.05) <= 0.05


def test_p_is_as_honest_as_permutations() -> None:
    """The share of orders of independent nights whose best step is at least as clear."""
    rng = np.random.default_rng(5)
    values = np.concatenate((rng.standard_normal(15), 1.6 + rng.standard_normal(9)))
    step = likeliest_step(values, rho=0.0, smallest=4)
    clearest = np.abs(step_statistics(values, rho=0.0))[4:21].max()
    others = [
        np.abs(step_statistics(rng.permutation(values), rho=0.0))[4:21].max() for _ in range(2000)
    ]
    share = float(np.mean(np.array(others) >= clearest))
    assert share / 2 <= step.p <= 5 * share


def test_noise_that_was_filtered_still_counts() -> None:
    values = steps((10, 1.0), (10, 1.5)) + np.random.default_rng(2).standard_normal(20) / 10
    plain = likeliest_step(values, rho=0.0, smallest=4)
    assert likeliest_step(values, rho=0.0, smallest=4, surplus=1.0).p > plain.p


def test_superiority_is_the_share_of_pairs() -> None:
    before, after = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0])
    assert superiority(before, after) == (1 + 0.5 + 3) / 6
    assert superiority(after, before) == superiority(before, after)
