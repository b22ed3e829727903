from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.analysis.breakeven import Replicates, Times, compute_overtakes, pays_from
from service.analysis.crossing import (
    Crossing,
    Curve,
    Doubt,
    Outcome,
    crossing_batch,
    find_crossing,
    isotonic,
)
from tests.unit.analysis.synthetic import OCTAVES, SCENARIOS, Machine, Scenario, draw, holds


def exact(machine: Machine, batches: tuple[int, ...] = OCTAVES) -> Replicates:
    return {("sweep", r): {batch: machine.times(batch) for batch in batches} for r in range(3)}


def judged(found: Crossing | None) -> Crossing:
    assert found is not None
    return found


def curve(*log_ratios: float, batches: tuple[int, ...] = OCTAVES) -> Curve:
    return Curve(batches=batches[: len(log_ratios)], log_ratios=log_ratios)


def cross(*curves: Curve) -> Crossing:
    return judged(find_crossing(curves))


@given(st.floats(2, 900), st.floats(0.0, 0.5))
def test_the_batch_of_a_known_machine_is_found_within_a_few_percent(
    break_even: float, beta: float
) -> None:
    """What is left is the straight line between two octaves of a gently bent curve."""
    machine = Machine(alpha=break_even * (5 - 5 * beta), beta=5 * beta, slope=5)
    found = judged(compute_overtakes(exact(machine)))
    assert found.outcome is Outcome.CROSSED
    assert found.batch is not None
    assert found.batch.median == pytest.approx(machine.break_even, rel=0.05)
    assert found.num_unsteady == 0


@pytest.mark.parametrize("num_replicates", [3, 5, 10])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_interval_holds_the_true_batch_95_times_in_100(
    scenario: Scenario, num_replicates: int
) -> None:
    """Within what 60 draws can show; `tests.bench.breakeven_coverage` has a thousand."""
    rng = np.random.default_rng(num_replicates)
    held = []
    for _ in range(60):
        seen = draw(scenario, num_replicates=num_replicates, rng=rng)
        both = (compute_overtakes(seen.two), pays_from(seen.two, smaller_degree=seen.alone))
        held += [holds(found, scenario.machine.break_even) for found in both]
    assert 0.89 <= np.mean(held) < 1


def test_a_break_even_beyond_the_largest_batch_is_seldom_placed_within() -> None:
    """At 2083; measured up to 1024."""
    scenario = Scenario("beyond", Machine(alpha=10_000, beta=0.2, slope=5), OCTAVES, 0.05)
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(100):
        found = judged(compute_overtakes(draw(scenario, num_replicates=3, rng=rng).two))
        wrong += found.outcome is Outcome.NEVER_BELOW or (
            found.batch is not None and found.batch.high is not None
        )
    assert wrong <= 0.05 * 100


def test_compute_that_leads_everywhere_is_not_reached_with_compute_dominating() -> None:
    found = judged(compute_overtakes(exact(Machine(alpha=1, beta=0, slope=5))))
    assert (found.outcome, found.batch) == (Outcome.NEVER_BELOW, None)
    assert (found.lowest_batch, found.highest_batch) == (1, 1024)


def test_communication_that_grows_as_fast_as_compute_is_never_overtaken() -> None:
    found = judged(compute_overtakes(exact(Machine(alpha=1, beta=6, slope=5))))
    assert (found.outcome, found.batch) == (Outcome.NEVER_ABOVE, None)


@pytest.mark.parametrize("exposed_us", [0.0, -3.0])
def test_no_exposed_communication_means_that_compute_leads(exposed_us: float) -> None:
    own = {1: Times(step_us=10, compute_us=2), 2: Times(step_us=10 + exposed_us, compute_us=10)}
    series = {("sweep", r): own for r in range(3)}
    found = judged(compute_overtakes(series))
    assert found.outcome is Outcome.CROSSED
    assert found.batch is not None
    assert 1 < found.batch.median < 2


def test_a_degree_pays_from_where_its_step_becomes_the_shorter() -> None:
    """Alone: 10 * batch. On two ranks: 5 * batch + 100. Equal at batch 20."""
    series = exact(Machine(alpha=100, beta=0, slope=5))
    alone = {
        key: {b: Times(step_us=10.0 * b, compute_us=10.0 * b) for b in OCTAVES} for key in series
    }
    found = judged(pays_from(series, smaller_degree=alone))
    assert found.outcome is Outcome.CROSSED
    assert found.batch is not None
    assert found.batch.median == pytest.approx(20, rel=0.03)


def test_degrees_are_compared_within_a_replicate_and_its_batches() -> None:
    """Replicate 2 never measured the smaller degree; replicate 1 did not at batch 4."""
    machine = Machine(alpha=3, beta=0, slope=5)
    series = exact(machine, (1, 2, 4))
    alone = {b: Times(step_us=7.0 * b, compute_us=7.0 * b) for b in (1, 2, 4)}
    smaller = {("sweep", 0): alone, ("sweep", 1): {1: alone[1], 2: alone[2]}}
    found = judged(pays_from(series, smaller_degree=smaller))
    assert found.num_replicates == 1
    assert found.batch is not None
    assert found.batch.median == pytest.approx(1.5, rel=0.05)


def test_replicates_of_which_one_does_not_cross_cannot_tell() -> None:
    found = cross(curve(-2, -1, 0.5), curve(-2, -1, -0.6), curve(-2, -1, -0.2))
    assert (found.outcome, found.doubt, found.batch) == (
        Outcome.CANNOT_TELL,
        Doubt.NEAR_AN_END,
        None,
    )
    assert (found.num_crossed, found.num_replicates) == (1, 3)


def test_replicates_that_disagree_about_who_leads_cannot_tell() -> None:
    found = cross(curve(1, 2), curve(-2, -1))
    assert (found.outcome, found.doubt, found.num_crossed) == (
        Outcome.CANNOT_TELL,
        Doubt.TOO_WIDE,
        0,
    )


def test_an_interval_as_wide_as_the_range_is_none() -> None:
    found = cross(curve(-2, -1, 0.5), curve(-0.1, 0.1, 3))
    assert (found.outcome, found.doubt, found.batch) == (Outcome.CANNOT_TELL, Doubt.TOO_WIDE, None)
    assert found.num_crossed == 2


def test_an_end_of_the_interval_outside_of_the_range_is_open() -> None:
    upper = cross(curve(-3, -2, -1, -0.1), curve(-3, -2, -1, 0.2), curve(-3, -2, -1, 0.3))
    assert upper.batch is not None
    assert upper.batch.low == pytest.approx(6, rel=0.2)
    assert upper.batch.high is None
    lower = cross(curve(0.1, 1, 2, 3), curve(-0.2, 1, 2, 3), curve(-0.3, 1, 2, 3))
    assert lower.batch is not None
    assert lower.batch.low is None
    assert lower.batch.high == pytest.approx(1.4, rel=0.2)


def test_replicates_that_agree_to_the_last_bit_leave_no_interval() -> None:
    found = cross(*(curve(-2, -1, 1) for _ in range(3)))
    assert found.batch is not None
    assert found.batch.low == found.batch.high == pytest.approx(found.batch.median)


def test_leading_at_the_edge_within_chance_is_not_leading() -> None:
    """A mean of 0.1 with replicates from -0.3 to 0.5."""
    found = cross(curve(0.5, 1, 2), curve(0.1, 1, 2), curve(-0.3, 1, 2))
    assert (found.outcome, found.doubt) == (Outcome.CANNOT_TELL, Doubt.NEAR_AN_END)


def test_replicates_without_an_end_of_the_range_are_not_judged() -> None:
    """A running sweep: the second replicate has not come to the largest batch yet."""
    found = cross(curve(-2, -1, 1), curve(-2, -1))
    assert (found.outcome, found.num_replicates) == (Outcome.CROSSED, 1)
    assert found.batch is not None
    assert found.batch.low is None


def test_without_any_whole_replicate_nothing_can_be_told() -> None:
    found = cross(curve(-2, -1), Curve(batches=(2, 4), log_ratios=(-1, 1)))
    assert (found.outcome, found.num_replicates) == (Outcome.CANNOT_TELL, 0)


def test_a_single_batch_is_no_series() -> None:
    assert find_crossing([curve(1.0)]) is None
    assert find_crossing([]) is None


def test_a_curve_that_crosses_several_times_is_smoothed_once_and_flagged() -> None:
    found = cross(*(curve(-2.0, 0.4, -0.6, 0.5, 2.0) for _ in range(3)))
    assert found.outcome is Outcome.CROSSED
    assert found.num_unsteady == 3
    assert found.batch is not None
    assert 2 < found.batch.median < 8


def test_a_curve_that_only_falls_is_flagged_and_not_called_a_break_even() -> None:
    found = cross(*(curve(2.0, 0.5, -1.0) for _ in range(3)))
    assert found.outcome is not Outcome.CROSSED
    assert found.num_unsteady == 3


def test_a_crossing_on_a_measured_batch_is_that_batch() -> None:
    assert crossing_batch(curve(-1, 0, 1)) == pytest.approx(2)
    assert crossing_batch(curve(0, 1)) is None


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20))
def test_isotonic_regression_rises_keeps_the_mean_and_leaves_rising_curves_alone(
    values: list[float],
) -> None:
    fitted = isotonic(values)
    assert list(fitted) == sorted(fitted) or np.all(np.diff(fitted) >= -1e-12)
    assert np.mean(fitted) == pytest.approx(np.mean(values), abs=1e-9)
    assert isotonic(sorted(values)) == tuple(sorted(values))
    for other in (sorted(values), [float(np.mean(values))] * len(values)):
        own = sum((a - b) ** 2 for a, b in zip(values, fitted, strict=True))
        assert own <= sum((a - b) ** 2 for a, b in zip(values, other, strict=True)) + 1e-9


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=11))
def test_a_crossing_lies_within_the_measured_batches(values: list[float]) -> None:
    found = crossing_batch(curve(*isotonic(values)))
    assert -inf < log(found or 1) < inf
    assert found is None or 1 <= found <= exp(log(OCTAVES[len(values) - 1])) * (1 + 1e-9)
