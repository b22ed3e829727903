from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.analysis.interval import estimate, estimate_signed, student, student_quantile

SPREAD = 0.2
"""Of log-medians between process groups; what was seen on shared hosts."""
NUM_TRIALS = 1000


def covers(low: float | None, true: float, high: float | None) -> bool:
    assert low is not None
    assert high is not None
    return low <= true <= high


@pytest.mark.parametrize("num_groups", [3, 5, 7])
def test_the_interval_of_few_groups_holds_the_true_median_95_times_in_100(num_groups: int) -> None:
    rng = np.random.default_rng(num_groups)
    groups = np.exp(log(250) + rng.normal(0, SPREAD, (NUM_TRIALS, num_groups)))
    held = 0
    for values in groups.tolist():
        found = estimate(values, rng=rng)
        held += covers(found.low, 250, found.high)
    assert 0.93 <= held / NUM_TRIALS <= 0.97


@pytest.mark.parametrize("num_groups", [3, 5, 7])
def test_a_percentile_bootstrap_of_few_groups_would_claim_too_much(num_groups: int) -> None:
    """Why the interval below ten groups is Student's t."""
    rng = np.random.default_rng(num_groups)
    groups = rng.normal(0, SPREAD, (NUM_TRIALS, num_groups))
    picks = rng.integers(0, num_groups, (500, num_groups))
    means = groups[:, picks].mean(axis=2)
    low, high = np.quantile(means, (0.025, 0.975), axis=1)
    assert np.mean((low <= 0) & (high >= 0)) < 0.9


@pytest.mark.parametrize("num_groups", [10, 20])
def test_the_bootstrap_of_ten_groups_and_more_comes_near_95_in_100(num_groups: int) -> None:
    rng = np.random.default_rng(num_groups)
    groups = np.exp(rng.normal(0, SPREAD, (300, num_groups)))
    held = 0
    for values in groups.tolist():
        found = estimate(values, rng=rng)
        held += covers(found.low, 1, found.high)
    assert 0.9 <= held / 300 <= 0.98


def test_a_quantity_around_zero_is_covered_too() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for values in rng.normal(-0.5, 3, (NUM_TRIALS, 3)).tolist():
        found = estimate_signed(values, rng=rng)
        held += covers(found.low, -0.5, found.high)
    assert 0.93 <= held / NUM_TRIALS <= 0.97


def test_three_groups_give_the_interval_of_the_textbook() -> None:
    """Student's 0.975 quantile at 2 degrees of freedom is 4.303, at 9 it is 2.262."""
    assert student_quantile(2) == pytest.approx(4.303, abs=1e-3)
    assert student_quantile(9) == pytest.approx(2.262, abs=1e-3)
    assert student([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5), 1e-3)
    found = estimate([exp(1), exp(2), exp(3)], rng=np.random.default_rng(0))
    assert found.median == pytest.approx(exp(2))
    assert found.low == pytest.approx(exp(2 - 4.303 / 3**0.5), rel=1e-3)


def test_one_group_gives_a_value_and_no_interval() -> None:
    found = estimate([250.0], rng=np.random.default_rng(0))
    assert (found.median, found.low, found.high, found.n) == (250.0, None, None, 1)


def test_the_bootstrap_is_the_same_for_the_same_seed() -> None:
    values = [float(value) for value in range(100, 112)]
    first, second = (estimate(values, rng=np.random.default_rng(7)) for _ in range(2))
    assert first == second


@given(st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=12), st.integers(0, 2**32 - 1))
def test_the_median_lies_within_its_interval(values: list[float], seed: int) -> None:
    for kind in (estimate, estimate_signed):
        found = kind(values, rng=np.random.default_rng(seed))
        assert covers(found.low, found.median, found.high)
        assert found.n == len(values)


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=9), st.floats(1e-3, 1e3))
def test_the_unit_of_time_does_not_matter(values: list[float], unit: float) -> None:
    rng = np.random.default_rng(0)
    plain = estimate(values, rng=rng)
    scaled = estimate([value * unit for value in values], rng=rng)
    assert plain.low is not None
    assert plain.high is not None
    assert scaled.low == pytest.approx(plain.low * unit, rel=1e-6)
    assert scaled.high == pytest.approx(plain.high * unit, rel=1e-6)


@pytest.mark.parametrize("count", [5, 15])
def test_the_order_of_the_replicates_makes_no_difference(count: int) -> None:
    values = np.random.default_rng(4).lognormal(5, SPREAD, count).tolist()
    found = [estimate(each, rng=np.random.default_rng(1)) for each in (values, values[::-1])]
    assert found[0] == found[1]
