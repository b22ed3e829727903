import math
from itertools import pairwise
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.costmodel.curve import TimeCurve
from service.analysis.costmodel.fit import fit_three_terms
from service.analysis.costmodel.prediction import Basis
from tests.unit.analysis.costmodel.published import (
    IN_A_NODE,
    SOUND,
    Points,
    as_torch_calls_it,
    placements,
)


@st.composite
def noisy_curves(draw: st.DrawFn) -> Points:
    """A + S/B + c*sqrt(S) with noise of up to 10 %."""
    latency, per_byte = draw(st.floats(1, 200)), draw(st.floats(1e-6, 1e-2))
    per_root = draw(st.floats(0, 1))
    powers = draw(st.lists(st.integers(3, 34), min_size=3, max_size=20, unique=True))
    return [
        (
            2.0**power,
            (latency + per_byte * 2**power + per_root * 2 ** (power / 2))
            * draw(st.floats(0.9, 1.1)),
        )
        for power in sorted(powers)
    ]


def curve(points: Points) -> TimeCurve:
    return TimeCurve.of(points, calibration="test")


@settings(max_examples=60)
@given(points=noisy_curves(), sizes=st.lists(st.integers(1, 1 << 36), min_size=2, max_size=8))
def test_time_rises_with_size_and_is_never_negative(points: Points, sizes: list[int]) -> None:
    found = curve(points)
    times = [found.predict(size).time_us for size in sorted(sizes)]
    assert all(time > 0 for time in times)
    assert all(b >= a * (1 - 1e-9) for a, b in pairwise(times))


@settings(max_examples=40)
@given(noisy_curves())
def test_a_calibrated_point_is_predicted_as_it_was_measured_within_the_noise(
    points: Points,
) -> None:
    found = curve(points)
    for size, time in points:
        predicted = found.predict(size)
        assert predicted.basis is Basis.MEASURED
        assert predicted.time_us == pytest.approx(time, rel=0.23)


def test_a_rising_curve_is_met_exactly() -> None:
    points = [(2.0**power, 20 + 2**power / 1e5) for power in range(3, 30)]
    assert all(curve(points).predict(s).time_us == pytest.approx(t, rel=1e-9) for s, t in points)


@pytest.mark.parametrize("name", IN_A_NODE)
def test_points_held_out_of_sound_tables_are_within_five_percent(name: str) -> None:
    errors = [abs(math.expm1(error)) for error in curve(as_torch_calls_it(name)).held_out_errors]
    assert mean(errors) <= 0.05


def is_held(known: Points, size: float, time: float) -> bool:
    """Whether the band of a point that is not known holds what was measured of it."""
    found = curve(known).predict(size)
    return (found.low_us or 0) <= time <= (found.high_us or 0)


def test_bands_hold_nine_of_ten_held_out_points() -> None:
    """Every third inner point of each table, from all others of it."""
    hits = [
        is_held([*points[:index], *points[index + 1 :]], *points[index])
        for name in SOUND
        for points in placements(name).values()
        for index in range(1, len(points) - 1, 3)
    ]
    assert len(hits) >= 150
    assert 0.85 <= sum(hits) / len(hits) <= 0.95


def test_bands_hold_nine_of_ten_points_between_distant_ones() -> None:
    """Each table known by one half and tried on the other, both ways.

    Held out of such a half, a point is so far from its neighbours that bands get rather wide.
    """
    hits: list[bool] = []
    for name in SOUND:
        for points in placements(name).values():
            for first in (0, 1) if len(points) > 8 else ():
                known = points[first::2]
                between = [p for p in points[1 - first :: 2] if known[0] < p < known[-1]]
                hits += [is_held(known, *point) for point in between]
    assert len(hits) >= 200
    assert sum(hits) / len(hits) >= 0.9


def test_beyond_the_range_is_extrapolation_with_a_wider_band() -> None:
    found = curve([(2.0**power, 20 + 2**power / 1e5) for power in range(10, 30)])
    inside, beyond = found.predict(2.0**29), found.predict(2.0**31)
    assert (inside.basis, beyond.basis) == (Basis.MEASURED, Basis.EXTRAPOLATED)
    assert beyond.time_us == pytest.approx(20 + 2**31 / 1e5, rel=0.02)
    assert found.predict(1.0).basis is Basis.EXTRAPOLATED
    assert found.predict(1.0).time_us == pytest.approx(20, rel=0.05)


def test_far_apart_neighbours_are_bridged_by_the_fit() -> None:
    points = [(2.0**power, 20 + 2**power / 1e5) for power in range(8, 33, 6)]
    predicted = curve(points).predict(2.0**23)
    assert predicted.basis is Basis.FITTED
    assert predicted.time_us == pytest.approx(20 + 2**23 / 1e5, rel=0.1)


def test_a_single_disturbed_reading_does_not_spoil_its_neighbours() -> None:
    points = [(2.0**power, 20 + 2**power / 1e5) for power in range(3, 30)]
    spoiled = [(s, t * (3 if s == 2**15 else 1)) for s, t in points]
    for size, time in points:
        if size != 2**15:
            assert curve(spoiled).predict(size).time_us == pytest.approx(time, rel=0.01)


def test_too_few_sizes_are_no_curve() -> None:
    with pytest.raises(ValueError, match="2 sizes are no curve"):
        curve([(8, 1.0), (8, 2.0), (16, 2.0), (0, 1.0)])


def test_known_coefficients_are_found_again_beside_an_outlier() -> None:
    sizes = [2.0**power for power in range(3, 33)]
    times = [12 + size / 2e5 + 0.02 * math.sqrt(size) for size in sizes]
    times[10] *= 4
    found = fit_three_terms(sizes, times)
    assert found.latency_us == pytest.approx(12, rel=0.05)
    assert found.us_per_byte == pytest.approx(1 / 2e5, rel=0.05)
    assert found.us_per_root_byte == pytest.approx(0.02, rel=0.1)
