import random

import pytest

from workers.contract.sweep import Sampling
from workers.timing.stopping import Stopping, StopRule, median_interval, relative_half_width


def feed(
    stopping: Stopping, draw: "random.Random", *, spread: float, limit: int
) -> StopRule | None:
    """Add steps of 1 ms with a relative spread one by one until a rule fires."""
    steps: list[int] = []
    for _ in range(limit):
        steps.append(round(1e6 * draw.lognormvariate(0, spread)))
        if rule := stopping.judge(steps, timed_ns=sum(steps)):
            return rule
    return None


def test_quiet_steps_stop_by_their_interval() -> None:
    stopping = Stopping(Sampling(target_rel_ci=0.02, max_time_s=100))
    assert feed(stopping, random.Random(1), spread=0.005, limit=200) is StopRule.INTERVAL


def test_steps_whose_noise_no_longer_narrows_stop_as_settled() -> None:
    rng, stopping = random.Random(2), Stopping(Sampling(target_rel_ci=1e-6, max_time_s=600))
    steps: list[int] = []
    for number in range(4_000):
        level = 1 + (number % 2)  # two modes: no number of steps narrows the median's interval
        steps.append(round(1e6 * level * rng.lognormvariate(0, 0.01)))
        if rule := stopping.judge(steps, timed_ns=0):
            assert rule is StopRule.SETTLED
            return
    pytest.fail("two modes never settled")


def test_the_time_limit_ends_what_nothing_else_does() -> None:
    stopping = Stopping(Sampling(target_rel_ci=1e-6, max_time_s=0.02, min_steps=10))
    assert feed(stopping, random.Random(3), spread=0.3, limit=200) is StopRule.TIME_LIMIT


def test_nothing_stops_before_the_least_number_of_steps() -> None:
    stopping = Stopping(Sampling(max_time_s=0.001, min_steps=10))
    assert all(stopping.judge([10**6] * n, timed_ns=10**10) is None for n in range(1, 10))
    assert stopping.judge([10**6] * 10, timed_ns=10**10) is not None


@pytest.mark.parametrize("num_values", [6, 7, 10, 41, 100])
def test_the_interval_holds_the_true_median_in_95_of_100_runs(num_values: int) -> None:
    rng, held, runs = random.Random(4), 0, 2_000
    for _ in range(runs):
        values = [round(1e6 * rng.lognormvariate(0, 0.5)) for _ in range(num_values)]
        low, high = median_interval(values)
        held += low <= 1e6 <= high
    assert held / runs > 0.945


def test_too_few_values_bound_nothing() -> None:
    assert relative_half_width([1, 2, 3, 4, 5]) == float("inf")
