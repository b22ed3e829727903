"""False alarms among points that were measured by turns with themselves."""

import numpy as np
import pytest
from scipy import stats

from service.analysis.comparison import Verdict
from service.analysis.self_check import SamePair, check


def pairs(ratios: list[float], *verdicts: Verdict, num_groups: int = 3) -> list[SamePair]:
    found = [*verdicts, *[Verdict.SAME] * (len(ratios) - len(verdicts))]
    return [SamePair(r, v, num_groups) for r, v in zip(ratios, found, strict=True)]


def test_the_rate_has_clopper_and_pearsons_interval() -> None:
    rng = np.random.default_rng(1)
    ratios = rng.lognormal(0, 0.01, 40).tolist()
    found = check(pairs(ratios, Verdict.SLOWER, Verdict.SLOWER, Verdict.FASTER))
    expected = stats.binomtest(3, 40).proportion_ci(0.95, method="exact")
    assert (found.num_pairs, found.num_alarms, found.num_slower) == (40, 3, 2)
    assert found.rate == pytest.approx(3 / 40)
    assert (found.rate_low, found.rate_high) == pytest.approx((expected.low, expected.high))
    assert found.is_kept is False, "1.6 % is above the promised 1 %"


def test_ratios_that_lean_to_one_side_are_found_though_none_is_an_alarm() -> None:
    found = check(pairs([1.001] * 18 + [0.999] * 2))
    expected = stats.binomtest(18, 20).pvalue
    assert found.p_one_sided == pytest.approx(expected)
    assert (found.share_slower, found.is_one_sided, found.is_kept) == (0.9, True, True)
    assert check(pairs([1.001, 0.999] * 10)).is_one_sided is False


def test_one_group_alone_tells_nothing() -> None:
    found = check(pairs([1.5], num_groups=1))
    assert (found.num_pairs, found.rate, found.is_kept, found.is_one_sided) == (0, None, None, None)


def test_every_alarm_or_none_has_an_interval_to_the_end() -> None:
    assert check(pairs([1.0] * 5)).rate_low == 0
    every = check(pairs([1.2] * 5, *[Verdict.SLOWER] * 5))
    assert (every.rate_high, every.is_kept) == (1, False)
