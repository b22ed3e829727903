"""What in a curve of collective times no sound machine shows: a fault detector.

Thresholds lie between what published tables of sound machines show (`tests/cases/nccl-tests`) and
the same tables slowed down in a part: see the test. Where readings of a size differ among
themselves, a curve has to pass a threshold by more than that noise, or it cannot be judged.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from service.analysis.costmodel.fit import fit_three_terms

FEWEST_SIZES = 6
BANDWIDTH_FALLS = math.log(1.1)
"""Sound: none. Larger messages never get less bandwidth."""
TIME_FALLS = math.log(1.28)
"""Sound: 1.17, where another algorithm takes over."""
STEP_UP = math.log(1.43)
"""Beyond both neighbouring steps. Sound: 1.13 in a node, 1.38 between nodes."""
STEP_DOWN = math.log(1.57)
"""Sound: 1.21 in a node, 1.36 between nodes."""
AWAY_IN_A_NODE, AWAY_BETWEEN_NODES = math.log(1.32), math.log(1.65)
"""Median distance of a run of sizes from the fitted curve. Sound: 1.25 and 1.55."""
POOR_FIT = 0.2
"""Mean distance of all sizes. Sound: 0.15 between nodes."""
FAIR_SHARE = 0.4
"""Of the line rate. Sound: 0.73 and more of it within a node."""
LARGE_BYTES = 1 << 28
_LONGEST_RUN = 0.6
_SHORTEST_RUN = 2
_EXTREME = 2.0
"""Of noise: the largest among many sizes lies about so much farther out than 90 % of them."""
_NUM_REMEMBERED = 500
"""Curves that are fitted once: they are shown again and again."""
_OF_A_RISE, _OF_A_STEP = math.sqrt(2), math.sqrt(6)
"""What noise does to the difference of two readings, and of two neighbouring rises."""


class DoubtKind(StrEnum):
    """What is doubted."""

    CONFIGURATION = "configuration"
    """Something is set up or broken so that part of the sizes is slow."""
    NOISE = "noise"
    """The measurement: nothing can be said of the configuration by it."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A range of message sizes that is slower than the rest of the curve explains."""

    low_bytes: int
    high_bytes: int
    reason: str
    kind: DoubtKind = DoubtKind.CONFIGURATION


def suspicions(
    sizes: Sequence[int], times_us: Sequence[float], *, spans_nodes: bool, noise: float = 0.0
) -> tuple[Suspicion, ...]:
    """Judge times by ascending size; nothing is said of fewer than six sizes.

    `noise` is the half width in log time that holds 90 % of single readings.
    """
    away = AWAY_BETWEEN_NODES if spans_nodes else AWAY_IN_A_NODE

    def judge(margin: float) -> tuple[Suspicion, ...]:
        curve = _Curve(tuple(sizes), tuple(times_us), margin)
        return (*curve.falls(), *curve.steps(), *curve.misfits(away))

    return _beyond_noise(sizes, judge, noise=noise, away=away)


def misfits(
    sizes: Sequence[int], times_us: Sequence[float], *, noise: float = 0.0
) -> tuple[Suspicion, ...]:
    """Judge the fit alone: through a CPU's caches bandwidth rises and falls on sound machines."""

    def judge(margin: float) -> tuple[Suspicion, ...]:
        curve = _Curve(tuple(sizes), tuple(times_us), margin)
        return tuple(curve.misfits(AWAY_BETWEEN_NODES))

    return _beyond_noise(sizes, judge, noise=noise, away=AWAY_BETWEEN_NODES)


def _beyond_noise(
    sizes: Sequence[int],
    judge: Callable[[float], tuple[Suspicion, ...]],
    *,
    noise: float,
    away: float,
) -> tuple[Suspicion, ...]:
    """What stands out by more than noise; else whether noise could have hidden or made anything."""
    if len(sizes) < FEWEST_SIZES:
        return ()
    is_lost = noise > away
    if not is_lost and (certain := judge(_EXTREME * noise)):
        return certain
    if is_lost or (noise and judge(0.0)):
        reason = f"readings of one size differ by {math.expm1(noise):.0%}: noisy, cannot judge"
        return (Suspicion(sizes[0], sizes[-1], reason, DoubtKind.NOISE),)
    return ()


def slow_link(
    message_bytes: int, busbw_gb_per_s: float, *, line_rate_gb_per_s: float
) -> Suspicion | None:
    """Judge the bandwidth of the largest message by the published rate of the link."""
    if message_bytes < LARGE_BYTES or busbw_gb_per_s >= FAIR_SHARE * line_rate_gb_per_s:
        return None
    return Suspicion(
        message_bytes,
        message_bytes,
        f"bus bandwidth reaches {busbw_gb_per_s:.3g} of {line_rate_gb_per_s:g} GB/s published",
    )


@dataclass(frozen=True, slots=True)
class _Curve:
    sizes: tuple[int, ...]
    times_us: tuple[float, ...]
    margin: float
    """In log time, for noise of one reading: every threshold has to be passed by it."""

    def falls(self) -> Iterator[Suspicion]:
        """Where bandwidth falls with size, or time does."""
        times = [math.log(time) for time in self.times_us]
        bandwidths = [math.log(s) - t for s, t in zip(self.sizes, times, strict=True)]
        margin = _OF_A_RISE * self.margin
        if found := self._fall(bandwidths, BANDWIDTH_FALLS + margin):
            first, last, depth = found
            yield self._suspicion(
                first, last, f"larger messages get {1 - math.exp(-depth):.0%} less bandwidth"
            )
        if found := self._fall(times, TIME_FALLS + margin):
            first, last, depth = found
            yield self._suspicion(
                first, last - 1, f"they take {math.exp(depth):.2g} times as long as larger ones"
            )

    def _fall(self, values: list[float], limit: float) -> tuple[int, int, float] | None:
        """First and last index between which a rising series lies below its maximum so far."""
        highest = list(accumulate(values, max))
        depths = [high - value for high, value in zip(highest, values, strict=True)]
        below = [index for index, depth in enumerate(depths) if depth > limit]
        if not below:
            return None
        first = values.index(highest[below[0]])
        return first, below[-1], max(depths)

    def steps(self) -> Iterator[Suspicion]:
        """Where time jumps, or stands still between two rises, from one size to the next."""
        times = [math.log(time) for time in self.times_us]
        rises = [after - before for before, after in pairwise(times)]
        around = [
            [rises[at] for at in (index - 1, index + 1) if 0 <= at < len(rises)]
            for index in range(len(rises))
        ]
        ups = [rise - max(near) for rise, near in zip(rises, around, strict=True)]
        downs = [min(near) - rise for rise, near in zip(rises, around, strict=True)]
        margin = _OF_A_STEP * self.margin
        if (most := max(ups)) > STEP_UP + margin:
            factor = f"{math.exp(most):.2g}"
            yield self._suspicion(
                ups.index(most) + 1, len(rises), f"from there on time is {factor} times longer"
            )
        if (most := max(downs)) > STEP_DOWN + margin:
            factor = f"{math.exp(most):.2g}"
            yield self._suspicion(
                0, downs.index(most), f"up to there time is {factor} times longer"
            )

    def misfits(self, away: float) -> Iterator[Suspicion]:
        """The run of sizes that lies farthest from a + S/B + c*sqrt(S) fitted to all."""
        off = _off_the_fit(self.sizes, self.times_us)
        if abs(off.distance) > away + self.margin or off.mean > POOR_FIT + self.margin:
            direction = "above" if off.distance > 0 else "below"
            yield self._suspicion(
                off.first,
                off.last,
                f"they lie {math.expm1(abs(off.distance)):.0%} {direction} the curve of the others",
            )

    def _suspicion(self, first: int, last: int, reason: str) -> Suspicion:
        return Suspicion(self.sizes[first], self.sizes[last], reason)


class _Off(NamedTuple):
    """The run of sizes that lies farthest off the fit, by the median of its residuals."""

    first: int
    last: int
    distance: float
    mean: float
    """Size of the residuals of all sizes."""


@lru_cache(_NUM_REMEMBERED)
def _off_the_fit(sizes: tuple[int, ...], times_us: tuple[float, ...]) -> _Off:
    """In log time, off a + S/B + c*sqrt(S) fitted to all."""
    fitted = fit_three_terms(sizes, times_us)
    pairs = zip(sizes, times_us, strict=True)
    residuals = [math.log(time / fitted.time_us(size)) for size, time in pairs]
    first, last = max(_runs(len(sizes)), key=lambda run: abs(_middle(residuals, run)))
    mean = sum(map(abs, residuals)) / len(residuals)
    return _Off(first, last, _middle(residuals, (first, last)), mean)


def _runs(num_sizes: int) -> Iterator[tuple[int, int]]:
    longest = max(_SHORTEST_RUN, int(_LONGEST_RUN * num_sizes))
    for first in range(num_sizes - 1):
        for last in range(first + _SHORTEST_RUN - 1, min(num_sizes, first + longest)):
            yield first, last


def _middle(residuals: Sequence[float], run: tuple[int, int]) -> float:
    return median(residuals[run[0] : run[1] + 1])
