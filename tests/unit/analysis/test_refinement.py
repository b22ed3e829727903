from math import ceil, log, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.breakeven import Times
from service.analysis.refinement import Timed, next_batch, next_points
from tests.unit.analysis.trials import point
from workers.contract.point import PointSpec


def refine(truth: float, batches: tuple[int, ...], rel_width: float) -> dict[int, float]:
    """Every batch that is measured in the end; the curve is below 0 before the truth."""
    seen = {batch: log(batch / truth) for batch in batches}
    while (batch := next_batch(seen, rel_width=rel_width)) is not None:
        assert batch not in seen
        seen[batch] = log(batch / truth)
    return seen


@settings(max_examples=100)
@given(st.floats(1.01, 60_000), st.integers(61_000, 1 << 20), st.sampled_from([0.05, 0.2, 0.5]))
def test_the_asked_width_is_reached_in_log2_steps(
    truth: float, largest: int, rel_width: float
) -> None:
    seen = refine(truth, (1, largest), rel_width)
    steps = ceil(log2(log(largest) / log(1 + rel_width)))
    assert len(seen) - 2 <= steps + 1, "and one where whole numbers do not halve evenly"
    left = max(batch for batch in seen if batch < truth)
    right = min(batch for batch in seen if batch >= truth)
    assert right <= left * (1 + rel_width) or right - left == 1


@pytest.mark.parametrize("truth", [0.5, 5000])
def test_a_crossing_outside_of_the_range_is_not_looked_for(truth: float) -> None:
    assert refine(truth, (1, 32, 1024), 0.1).keys() == {1, 32, 1024}


def test_nothing_lies_between_neighbours() -> None:
    assert next_batch({7: -0.1, 8: 0.1}, rel_width=0.01) is None


def test_a_bracket_as_narrow_as_asked_is_left_alone() -> None:
    assert next_batch({100: -0.1, 110: 0.1}, rel_width=0.1) is None
    assert next_batch({100: -0.1, 110: 0.1}, rel_width=0.09) == 105


def test_a_curve_that_crosses_back_is_bracketed_once() -> None:
    assert next_batch({1: -2.0, 4: 0.3, 16: -0.4, 64: 2.0}, rel_width=0.2) == 32


def timed(spec: PointSpec, step_us: float, compute_us: float, replicate: int = 0) -> Timed:
    return Timed(spec=spec, replicate=replicate, times=Times(step_us, compute_us))


def grid(*degrees: int) -> list[Timed]:
    """Alone 10 a row; compute divides, and every degree above 1 communicates for 100."""
    return [
        timed(
            point(tp_degree=degree, batch=batch),
            10 * batch / degree + (100 if degree > 1 else 0),
            10 * batch / degree,
        )
        for degree in degrees
        for batch in (1, 64)
    ]


def test_a_new_batch_is_wanted_of_both_degrees_that_are_compared() -> None:
    wanted = {(spec.tp_degree, spec.batch) for spec in next_points(grid(1, 2), rel_width=0.2)}
    assert wanted == {(1, 8), (2, 8)}


def test_a_degree_without_a_smaller_one_is_refined_for_its_own_communication() -> None:
    assert [(s.tp_degree, s.batch) for s in next_points(grid(2), rel_width=0.2)] == [(2, 8)]


def test_what_is_narrow_or_does_not_cross_wants_nothing() -> None:
    assert next_points(grid(1), rel_width=0.2) == ()
    assert next_points([], rel_width=0.2) == ()
    narrow = [
        timed(point(tp_degree=2, batch=20), 201, 100),
        timed(point(tp_degree=2, batch=22), 210, 110),
    ]
    assert next_points(narrow, rel_width=0.2) == ()
