import math
from collections.abc import Sequence
from enum import StrEnum
from statistics import median

from workers.contract.sweep import Sampling

SETTLED_SHRINK = 0.9
"""Doubling the steps should narrow the interval to 0.71 of it; above this, more steps do not help.
After nvbench's `stdrel` rule: noise that no longer changes is the host's, not the sample's."""

SMALLEST_SAMPLE = 6
"""Fewest values whose order statistics bound the median with 95 % confidence."""


class StopRule(StrEnum):
    """Which rule ended a trial."""

    INTERVAL = "interval"
    SETTLED = "settled"
    TIME_LIMIT = "time_limit"


class Stopping:
    """Decides after each round whether a trial has seen enough; equal input, equal answer."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._widths: dict[int, float] = {}

    def judge(self, steps_ns: Sequence[int], *, timed_ns: int) -> StopRule | None:
        """Return the rule that ends the trial, or None.

        `steps_ns` are the clean steps so far, slowest rank each; `timed_ns` the time spent in
        steps of all passes.
        """
        if len(steps_ns) < self._sampling.min_steps:
            return None
        width = relative_half_width(steps_ns)
        if width <= self._sampling.target_rel_ci:
            return StopRule.INTERVAL
        if timed_ns >= self._sampling.max_time_s * 1e9:
            return StopRule.TIME_LIMIT
        self._widths[len(steps_ns)] = width
        halfway = [n for n in self._widths if n <= len(steps_ns) // 2]
        if halfway and math.isfinite(width):
            earlier = self._widths[max(halfway)]
            if math.isfinite(earlier) and width > SETTLED_SHRINK * earlier:
                return StopRule.SETTLED
        return None


def relative_half_width(values: Sequence[int]) -> float:
    """Half of the median's 95 % interval, relative to the median; infinite for a few values.

    It speaks of one process alone and only ends sampling; published intervals are over replicates.
    """
    if len(values) < SMALLEST_SAMPLE:
        return math.inf
    low, high = median_interval(values)
    return (high - low) / 2 / median(values)


def median_interval(values: Sequence[int]) -> tuple[int, int]:
    """Bounds of the median with at least 95 % confidence, by order statistics.

    The number of values below the median is binomial(n, 1/2); 0.98 sqrt(n) is 1.96 of its standard
    deviations. Assumes independent values, whatever their distribution.
    """
    ordered = sorted(values)
    middle, reach = (len(ordered) - 1) / 2, 0.98 * math.sqrt(len(ordered))
    low = max(0, math.floor(middle - reach))
    high = min(len(ordered) - 1, math.ceil(middle + reach))
    return ordered[low], ordered[high]
