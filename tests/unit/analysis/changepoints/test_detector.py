import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.changepoints.detector import detect, replay
from service.analysis.changepoints.parameters import DEFAULTS, DETECTOR_VERSION, Parameters
from service.analysis.changepoints.verdict import Outcome, Verdict
from tests.unit.analysis.changepoints.nights import noisy, steps

STEP = noisy(steps((40, 200.0), (20, 206.0)), seed=1)

AnyValue = st.one_of(
    st.none(), st.floats(-1e150, 1e150), st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e150])
)


def indices(verdict: Verdict) -> list[int]:
    return [point.index for point in verdict.change_points]


def test_a_step_is_found_with_its_size_and_certainty() -> None:
    (point,) = detect(STEP).change_points
    assert point.index == 40
    assert point.effect_relative == pytest.approx(0.03, abs=0.01)
    assert point.effect_absolute == pytest.approx(point.after - point.before)
    assert point.p < DEFAULTS.largest_p
    assert (point.num_before, point.num_after) == (40, 20)


def test_no_change_is_found_where_there_is_none() -> None:
    verdict = detect(noisy(steps((60, 200.0)), seed=5))
    assert verdict.outcome == Outcome.STEADY
    assert indices(verdict) == []
    assert verdict.reasons == ()


def test_a_small_step_after_a_large_one_is_found() -> None:
    values = noisy(steps((40, 100.0), (40, 300.0), (40, 291.0)), seed=2)
    assert indices(detect(values)) == [40, 80]


def test_a_change_below_the_smallest_effect_is_left_alone() -> None:
    values = noisy(steps((60, 100.0), (60, 100.7)), seed=3, cv=0.001)
    assert indices(detect(values)) == []
    assert indices(detect(values, Parameters(smallest_relative=0.005))) == [60]
    large = noisy(steps((60, 100.0), (60, 105.0)), seed=3)
    assert indices(detect(large, Parameters(smallest_absolute=6.0))) == []


@pytest.mark.parametrize("number", range(12))
def test_too_few_nights_are_said_to_be_too_few(number: int) -> None:
    verdict = detect([1.0] * number)
    assert verdict.outcome == Outcome.INSUFFICIENT_DATA
    assert verdict.reasons[0] == f"{number} of at least 12 nights have a value: nothing is judged"
    assert replay([1.0] * number) == verdict


@pytest.mark.parametrize("values", [[None] * 30, [math.nan] * 30])
def test_all_missing_is_too_few(values: list[float | None]) -> None:
    verdict = detect(values)
    assert verdict.outcome == Outcome.INSUFFICIENT_DATA
    assert (verdict.num_nights, verdict.num_missing) == (30, 30)


@pytest.mark.parametrize("value", [0.0, 50.0, -3.0, 5e-324, 1e150])
def test_a_constant_is_steady(value: float) -> None:
    verdict = detect([value] * 40)
    assert verdict.outcome == Outcome.STEADY
    assert verdict.drift is None


def test_missing_nights_keep_their_places() -> None:
    holes = {3, 17, 39, 44}
    values = [None if i in holes else value for i, value in enumerate(STEP)]
    verdict = detect(values)
    assert indices(verdict) == [40]
    assert verdict.num_missing == 4
    assert "4 of 60 nights are missing" in verdict.reasons


def test_without_a_positive_level_there_is_no_relative_effect() -> None:
    rng = np.random.default_rng(4)
    verdict = detect(list(steps((40, -0.5), (40, 1.0)) + rng.standard_normal(80) / 10))
    (point,) = verdict.change_points
    assert point.index == 40
    assert point.effect_relative is None
    assert point.effect_absolute == pytest.approx(1.5, abs=0.1)
    assert "absolute only" in verdict.reasons[0]


def test_a_slow_change_is_a_drift() -> None:
    level = np.concatenate((np.ones(40), 1 + 0.06 * np.arange(60) / 60))
    drift = detect(noisy(200 * level, seed=6)).drift
    assert drift is not None
    assert drift.effect_relative == pytest.approx(0.06, abs=0.03)
    assert drift.end == 99


def test_a_step_is_no_drift_and_a_flat_series_neither() -> None:
    assert detect(STEP).drift is None
    assert detect(noisy(steps((100, 200.0)), seed=7)).drift is None


def test_a_series_that_became_noisy_has_not_changed_its_level() -> None:
    values = noisy(steps((60, 200.0)), seed=8) + noisy(steps((40, 200.0)), seed=9, cv=0.05)
    verdict = detect(values)
    assert verdict.dispersion is not None
    assert verdict.dispersion.index == pytest.approx(60, abs=5)
    assert verdict.dispersion.ratio == pytest.approx(5, rel=0.5)
    assert verdict.outcome == Outcome.CHANGED
    assert "scatters" in verdict.reasons[0]


def test_spikes_are_told_and_counted() -> None:
    values = noisy(steps((100, 200.0)), seed=10)
    for place in range(71, 98, 4):
        values[place] = 300.0
    verdict = detect(values)
    assert [spike.index for spike in verdict.spikes] == list(range(71, 98, 4))
    assert verdict.spikes[0].usual == pytest.approx(200, rel=0.02)
    assert verdict.spikes_are_rising
    assert indices(verdict) == []


def test_a_suspect_newest_night_is_told_before_anything_is_confirmed() -> None:
    values = [*noisy(steps((40, 200.0)), seed=11), 220.0]
    verdict = detect(values)
    assert verdict.outcome == Outcome.SUSPECT
    assert verdict.suspects[-1].index == 40
    assert verdict.suspects[-1].effect_relative == pytest.approx(0.1, abs=0.02)
    assert "night 40 is far from" in verdict.reasons[-1]


def test_a_replay_tells_the_first_night_that_the_change_is_found() -> None:
    (point,) = replay(STEP).change_points
    night = point.reported_night
    assert night is not None
    assert point.index == 40
    assert 43 <= night <= 46
    assert indices(detect(STEP[: night + 1])) != []
    assert indices(detect(STEP[:night])) == []


def test_a_replay_ends_where_judging_at_once_does() -> None:
    values = noisy(steps((30, 100.0), (30, 104.0), (30, 95.0)), seed=12)
    told = [point.index for point in replay(values).change_points if point.withdrawn_night is None]
    assert told == indices(detect(values))


def test_a_replay_reports_each_of_two_near_steps_once() -> None:
    values = noisy(steps((60, 100.0), (8, 104.0), (40, 108.2)), seed=13)
    assert indices(replay(values)) == [60, 68]


def test_what_is_older_than_a_replay_looks_back_stays_as_it_was_told() -> None:
    values = noisy(steps((50, 100.0), (100, 110.0)), seed=14)
    (point,) = replay(values, Parameters(replay_nights=60, nights_per_side=20)).change_points
    assert (point.index, point.withdrawn_night) == (50, None)


def test_what_is_withdrawn_stays_visible() -> None:
    values = noisy(steps((25, 100.0), (5, 104.0), (25, 100.5)), seed=8)
    told = replay(values)
    gone = [point for point in told.change_points if point.withdrawn_night is not None]
    kept = [point for point in told.change_points if point.withdrawn_night is None]
    assert [point.index for point in kept] == indices(detect(values))
    assert [(point.index, point.withdrawn_night) for point in gone] == [(25, 54), (30, 54)]
    for point in gone:
        assert f"withdrawn on night {point.withdrawn_night}" in " ".join(told.reasons)


@pytest.mark.parametrize("judge", [detect, replay])
def test_the_same_series_gives_the_same_verdict_bit_by_bit(
    judge: Callable[[Sequence[float | None]], Verdict],
) -> None:
    assert judge(STEP).model_dump_json() == judge(list(STEP)).model_dump_json()


@settings(max_examples=15)
@given(st.floats(1e-100, 1e100), st.integers(0, 2**32))
def test_the_unit_does_not_matter(scale: float, seed: int) -> None:
    values = noisy(steps((20, 1.0), (15, 1.04)), seed=seed)
    plain = detect(values)
    scaled = detect([value and value * scale for value in values])
    assert indices(scaled) == indices(plain)
    for ours, theirs in zip(scaled.change_points, plain.change_points, strict=True):
        assert ours.effect_relative == pytest.approx(theirs.effect_relative)
        assert ours.p == pytest.approx(theirs.p, rel=1e-6)


@settings(max_examples=15)
@given(st.integers(1, 30))
def test_nights_without_a_value_in_front_only_shift_the_indices(number: int) -> None:
    missing: list[float | None] = [None] * number
    assert indices(detect(missing + STEP)) == [number + 40]


def test_up_in_the_mirror_is_down() -> None:
    falling = [400.0 - (value or 0.0) for value in STEP]
    assert indices(detect(falling)) == indices(detect(STEP))


@settings(max_examples=60)
@given(st.lists(AnyValue, max_size=40))
def test_any_series_gets_a_verdict(values: list[float | None]) -> None:
    verdict = detect(values)
    assert verdict.detector_version == DETECTOR_VERSION
    assert verdict.num_nights == len(values)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    for point in verdict.change_points:
        assert values[point.index] is not None


@settings(max_examples=10)
@given(st.lists(AnyValue, max_size=20))
def test_any_series_can_be_replayed(values: list[float | None]) -> None:
    assert replay(values).num_nights == len(values)


def test_changes_in_a_shuffled_series_are_rare() -> None:
    values = np.array(noisy(steps((60, 100.0)), seed=16))
    rng = np.random.default_rng(17)
    found = [bool(indices(detect(rng.permutation(values).tolist()))) for _ in range(100)]
    assert sum(found) <= 2


def test_a_very_long_series_is_judged() -> None:
    verdict = detect(noisy(steps((6000, 100.0), (4000, 103.0)), seed=18))
    assert indices(verdict) == [pytest.approx(6000, abs=2)]
