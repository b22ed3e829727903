"""What the instrument says where nothing differs: points measured by turns with themselves.

Every such pair asks whether its second point is faster or slower than its first, which it is not.
Each that is called so is a false alarm. Their share has the interval of Clopper and Pearson (1934),
which holds for any number of pairs. Whether the alarms, or the ratios, lean to one side is the sign
test: where second points are slower more often than chance would have it, turns are not equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import bdtr, betaincinv

from service.analysis.comparison import Verdict
from service.analysis.interval import CONFIDENCE
from service.analysis.pairs import FALSE_CLAIMS

ONE_SIDED_BELOW = 0.01
"""Largest p at which ratios are said to lean to one side."""
MOVED = (Verdict.FASTER, Verdict.SLOWER)


@dataclass(frozen=True, slots=True)
class SamePair:
    """One pair of a point with itself, judged."""

    ratio: float
    """Second over first."""
    verdict: Verdict
    num_groups: int
    """With one alone nothing can be called."""


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """All of them together."""

    num_pairs: int
    """Those with at least two groups."""
    num_alarms: int
    num_slower: int
    """Of the alarms."""
    rate: float | None
    """None without pairs, as are the following."""
    rate_low: float | None
    rate_high: float | None
    """95 % interval."""
    share_slower: float | None
    """Pairs whose ratio is above 1: a half where turns are equal."""
    p_one_sided: float | None
    """Two-sided sign test of that."""
    promised: float = FALSE_CLAIMS
    """Largest rate that the judgement of pairs promises."""

    @property
    def is_kept(self) -> bool | None:
        """Whether the promise may hold: False where the rate is surely above it."""
        return None if self.rate_low is None else self.rate_low <= self.promised

    @property
    def is_one_sided(self) -> bool | None:
        """Whether ratios lean to one side."""
        return None if self.p_one_sided is None else self.p_one_sided < ONE_SIDED_BELOW


def check(pairs: Sequence[SamePair]) -> SelfCheck:
    """Count the false alarms among pairs of a point with itself."""
    judged = [pair for pair in pairs if pair.num_groups > 1]
    n = len(judged)
    alarms = [pair.verdict for pair in judged if pair.verdict in MOVED]
    above = sum(pair.ratio > 1 for pair in judged)
    below = sum(pair.ratio < 1 for pair in judged)
    low, high = _clopper_pearson(len(alarms), n) if n else (None, None)
    return SelfCheck(
        num_pairs=n,
        num_alarms=len(alarms),
        num_slower=alarms.count(Verdict.SLOWER),
        rate=len(alarms) / n if n else None,
        rate_low=low,
        rate_high=high,
        share_slower=above / (above + below) if above + below else None,
        p_one_sided=_sign_test(above, below) if above + below else None,
    )


def _clopper_pearson(k: int, n: int) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def _sign_test(above: int, below: int) -> float:
    """Chance of a split at least as uneven, were both sides equally likely."""
    return min(1.0, 2 * float(bdtr(min(above, below), above + below, 0.5)))
