import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from service.analysis.comparison import (
    DEFAULT_TOLERANCE,
    Comparison,
    Verdict,
    adjust,
    compare,
    verdict,
)

CHANGED = {Verdict.FASTER, Verdict.SLOWER}
Values = NDArray[np.float64]


def judge(baseline: Values, candidate: Values) -> Comparison:
    return compare(baseline, candidate, tolerance=DEFAULT_TOLERANCE)


def sweep(
    rng: np.random.Generator,
    *,
    num_points: int,
    num_replicates: int,
    group: float,
    point: float,
    slower: float = 1.0,
) -> Values:
    """Step times as sweeps give them.

    A replicate's luck falls on all its points (log-sd `group`); each trial has its own (`point`).
    """
    base = np.linspace(3, 10, num_points)[:, None]
    shared = rng.normal(0, group, (1, num_replicates))
    own = rng.normal(0, point, (num_points, num_replicates))
    return np.exp(base + shared + own) * slower


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.8, 0.94, Verdict.FASTER),
        (1.06, 1.2, Verdict.SLOWER),
        (0.96, 1.04, Verdict.SAME),
        (0.95, 1.05, Verdict.SAME),
        (0.9, 1.02, Verdict.INCONCLUSIVE),
        (0.98, 1.2, Verdict.INCONCLUSIVE),
        (0.5, 2.0, Verdict.INCONCLUSIVE),
        (1.02, 1.3, Verdict.INCONCLUSIVE),
    ],
)
def test_an_interval_is_judged_by_where_it_lies_to_the_tolerance(
    low: float, high: float, expected: Verdict
) -> None:
    assert verdict(low, high, tolerance=0.05) is expected


@pytest.mark.parametrize("spread", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("num_replicates", [3, 5])
def test_comparing_a_point_with_itself_is_called_a_change_at_most_3_times_in_100(
    num_replicates: int, spread: float
) -> None:
    rng = np.random.default_rng(int(spread * 100) + num_replicates)
    pairs = np.exp(rng.normal(5, spread, (2, 800, num_replicates)))
    calls = [judge(old[None], new[None]).points[0].verdict for old, new in zip(*pairs, strict=True)]
    assert np.mean([call in CHANGED for call in calls]) <= 0.03


@pytest.mark.parametrize(("group", "point"), [(0.0, 0.3), (0.1, 0.02), (0.3, 0.1), (0.2, 0.2)])
def test_comparing_100_points_with_themselves_calls_any_change_at_most_3_times_in_100(
    group: float, point: float
) -> None:
    rng = np.random.default_rng(17)
    with_call, overall = 0, 0
    for _ in range(400):
        old, new = (
            sweep(rng, num_points=100, num_replicates=3, group=group, point=point) for _ in range(2)
        )
        found = judge(old, new)
        with_call += any(ratio.verdict in CHANGED for ratio in found.points)
        assert found.overall is not None
        overall += found.overall.verdict in CHANGED
    assert with_call / 400 <= 0.03
    assert overall / 400 <= 0.03


@pytest.mark.parametrize(
    ("num_replicates", "slower", "expected_share"),
    [(3, 1.2, 0.9), (5, 1.1, 0.5), (3, 1.4, 0.99)],
)
def test_a_sweep_that_got_slower_on_a_quiet_machine_is_found(
    num_replicates: int, slower: float, expected_share: float
) -> None:
    """Power at log-sd 0.01 between groups and 0.02 between trials, over 40 points."""
    rng = np.random.default_rng(5)
    found_points, found_overall = [], []
    for _ in range(100):
        old = sweep(rng, num_points=40, num_replicates=num_replicates, group=0.01, point=0.02)
        new = sweep(
            rng,
            num_points=40,
            num_replicates=num_replicates,
            group=0.01,
            point=0.02,
            slower=slower,
        )
        found = judge(old, new)
        found_points.append(np.mean([p.verdict is Verdict.SLOWER for p in found.points]))
        assert found.overall is not None
        found_overall.append(found.overall.verdict is Verdict.SLOWER)
    assert np.mean(found_points) >= expected_share
    assert np.mean(found_overall) >= 0.98


def test_swapping_the_sides_inverts_ratio_and_verdict() -> None:
    rng = np.random.default_rng(2)
    old = sweep(rng, num_points=3, num_replicates=5, group=0.0, point=0.01)
    found, swapped = judge(old, old * 1.3), judge(old * 1.3, old)
    assert {ratio.verdict for ratio in found.points} == {Verdict.SLOWER}
    assert {ratio.verdict for ratio in swapped.points} == {Verdict.FASTER}
    assert found.overall is not None
    assert swapped.overall is not None
    assert found.overall.value == pytest.approx(1.3)
    assert swapped.overall.value == pytest.approx(1 / 1.3)


def test_equal_sides_with_little_spread_are_the_same() -> None:
    old = np.array([[100.0, 100.5, 99.5, 100.2], [10.0, 10.1, 9.95, 10.02]])
    found = judge(old, old[:, ::-1])
    assert [ratio.verdict for ratio in found.points] == [Verdict.SAME, Verdict.SAME]
    assert found.overall is not None
    assert found.overall.verdict is Verdict.SAME


@pytest.mark.parametrize("lonely", ["baseline", "candidate"])
def test_one_replicate_on_a_side_is_inconclusive_whatever_the_ratio(lonely: str) -> None:
    one, three = np.array([[100.0, np.nan, np.nan]]), np.array([[900.0, 901.0, 902.0]])
    found = judge(one, three) if lonely == "baseline" else judge(three, one)
    point = found.points[0]
    assert point.verdict is Verdict.INCONCLUSIVE
    assert (point.low, point.high, point.p) == (None, None, None)
    assert found.overall is not None
    assert found.overall.verdict is Verdict.INCONCLUSIVE


def test_points_that_cannot_be_judged_leave_the_others_alone() -> None:
    old = np.array([[100.0, 101.0, 99.0], [100.0, np.nan, np.nan]])
    found = judge(old, old * 2)
    assert [p.verdict for p in found.points] == [Verdict.SLOWER, Verdict.INCONCLUSIVE]
    alone = judge(old[:1], old[:1] * 2)
    assert found.points[0] == alone.points[0]


def test_nothing_matched_has_no_overall_verdict() -> None:
    found = judge(np.empty((0, 3)), np.empty((0, 2)))
    assert found == Comparison(points=(), overall=None)


def test_a_missing_trial_does_not_move_the_overall_ratio() -> None:
    """The slow point's loss in one replicate must not make that replicate look fast."""
    rng = np.random.default_rng(8)
    old = sweep(rng, num_points=4, num_replicates=3, group=0.001, point=0.001)
    new = old.copy()
    new[3, 1] = np.nan
    found = judge(old, new).overall
    assert found is not None
    assert found.value == pytest.approx(1, abs=0.001)
    assert found.verdict is Verdict.SAME


def test_more_points_do_not_make_up_for_few_replicates() -> None:
    """Points of a replicate share its luck: the overall interval is as wide as the replicates'."""
    rng = np.random.default_rng(9)
    widths = []
    for num_points in (10, 1000):
        width = []
        for _ in range(50):
            old, new = (
                sweep(rng, num_points=num_points, num_replicates=3, group=0.1, point=0.0)
                for _ in range(2)
            )
            found = judge(old, new).overall
            assert found is not None
            assert found.high is not None
            assert found.low is not None
            width.append(np.log(found.high / found.low))
        widths.append(np.median(width))
    assert widths[1] == pytest.approx(widths[0], rel=0.3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusted_p_values_are_benjamini_and_hochbergs(p: list[float]) -> None:
    values = np.array(p)
    assert adjust(values) == pytest.approx(stats.false_discovery_control(values))


def test_untested_points_do_not_count_among_the_tests() -> None:
    adjusted = adjust(np.array([0.01, np.nan, 0.04]))
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])


def test_ten_thousand_points_are_judged_in_seconds() -> None:
    rng = np.random.default_rng(0)
    old = sweep(rng, num_points=10_000, num_replicates=3, group=0.1, point=0.1)
    began = time.process_time()
    judge(old, old * 1.1)
    assert time.process_time() - began < 5


def test_the_normalised_ratio_has_an_interval_of_its_own() -> None:
    rng = np.random.default_rng(6)
    old, new = rng.lognormal(5, 0.01, (2, 4)), rng.lognormal(5.1, 0.01, (2, 4))
    wide_old, wide_new = rng.lognormal(5, 0.2, (2, 4)), rng.lognormal(5.1, 0.2, (2, 4))
    found = compare(old, new, tolerance=0.05, normalised=(wide_old, wide_new)).points[0]
    alone = judge(wide_old, wide_new).points[0]
    assert (found.normalised_low, found.normalised_high) == (alone.low, alone.high)
    assert judge(old, new).points[0].normalised_low is None
