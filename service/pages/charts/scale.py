"""From values to places on an axis, and to steps of colour."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

NUM_LEVELS: Final = 9
MIDDLE: Final = NUM_LEVELS // 2
_STEPS: Final = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` lie between `start` and `end`; `low` is positive if `is_log`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Where a value lies; what is off the axis lies at its end."""
        inside = min(max(value, self.low), self.high)
        low, high, inside = (self._as_drawn(one) for one in (self.low, self.high, inside))
        share = (inside - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 5) -> tuple[float, ...]:
        """Round values on the axis, at most so many."""
        return (self._log_ticks if self.is_log else self._linear_ticks)(most)

    def _as_drawn(self, value: float) -> float:
        return math.log(value) if self.is_log else value

    def _linear_ticks(self, most: int) -> tuple[float, ...]:
        span = (self.high - self.low) or 1
        power = 10 ** math.floor(math.log10(span / most))
        step = next(s * power for s in (1, 2, 5, 10, 20) if span / (s * power) <= most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(step * one for one in range(first, last + 1))

    def _log_ticks(self, most: int) -> tuple[float, ...]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        powers = range(first, last + 1)
        for steps in (_STEPS, (1,)):
            values = [step * 10.0**power for power in powers for step in steps]
            ticks = tuple(one for one in values if self.low * 0.999 <= one <= self.high * 1.001)
            if len(ticks) <= most:
                return ticks
        return ticks[:: math.ceil(len(ticks) / most)]


def levels(values: Sequence[float], *, is_log: bool = False) -> list[int]:
    """A step of colour for each value, 0 for the smallest and 8 for the largest."""
    if not values:
        return []
    low = min(value for value in values if value > 0) if is_log and max(values) > 0 else min(values)
    scale = Scale(low, max(values), 0, NUM_LEVELS - 1, is_log=is_log and low > 0)
    return [round(scale.at(value)) for value in values]


def diverging(ratio: float, *, widest: float = 4.0) -> int:
    """A step of colour around 1, which is in the middle; 8 from `widest` on, 0 from its inverse."""
    share = math.log(ratio) / math.log(widest)
    return MIDDLE + round(MIDDLE * min(max(share, -1), 1))
