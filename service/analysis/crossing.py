"""Where one time overtakes another along a series of batches, and how well that is known.

A curve is the logarithm of a ratio of times at each batch, one curve for each replicate. It crosses
where it goes from below 0 to above. Between two batches each of the times is a straight line over
the batch: a fixed part and one for each row. A straight line over the logarithms missed the true
batch in 14 of 100 cases where four batches lay in one step of the grid and ten replicates told.

Noise can make a curve cross several times. Each is first made non-decreasing by isotonic regression
(least squares; the pool-adjacent-violators algorithm, Ayer et al. 1955), which leaves one crossing
and changes nothing where a curve rises already. That it was needed is reported.

The batch is where the mean of the curves crosses; its interval is Fieller's, so a replicate that
does not cross within the range counts as much as any other. An end of the interval that the range
does not hold is open, and where both are nothing is claimed. One replicate alone knows no chance:
what it shows is told without an interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from math import exp, log
from typing import Self

import numpy as np
from numpy.typing import NDArray

from service.analysis.fieller import Span, doubtful_spans
from service.analysis.interval import Estimate

PARTS = 4
"""Straight pieces of a curve between two measured batches."""

_NUM_REMEMBERED = 1000
"""Series whose crossing need not be sought again: people look at the same ones many times."""


class Outcome(StrEnum):
    """What a series of batches tells about a crossing."""

    CROSSED = "crossed"
    NEVER_BELOW = "never_below"
    """Above 0 from the smallest batch on: beyond chance, or in the only replicate."""
    NEVER_ABOVE = "never_above"
    """Below 0 up to the largest batch: beyond chance, or in the only replicate."""
    CANNOT_TELL = "cannot_tell"


class Doubt(StrEnum):
    """Why it cannot be told whether, or where, a series crosses."""

    NOT_COVERED = "not_covered"
    """No replicate covers the range."""
    TOO_WIDE = "too_wide"
    """The mean crosses, but the interval is as wide as the measured range."""
    NEAR_AN_END = "near_an_end"
    """The mean does not cross, but is not beyond chance on its side at an end of the range."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One replicate: the logarithm of the ratio at batches that increase, measured or between."""

    batches: tuple[float, ...]
    log_ratios: tuple[float, ...]

    @classmethod
    def of_times(
        cls, batches: Sequence[int], above: Sequence[float], below: Sequence[float]
    ) -> Self:
        """The ratio of two times, also at PARTS - 1 batches between each two that are measured.

        It is above 0 where `above` is the larger. Times are positive.
        """
        shown = [float(batch) for batch in batches[:1]]
        for left, right in pairwise(batches):
            shown += [left * (right / left) ** (part / PARTS) for part in range(1, PARTS)]
            shown.append(right)
        ratios = np.interp(shown, batches, above) / np.interp(shown, batches, below)
        return cls(tuple(shown), tuple(np.log(ratios).tolist()))


@dataclass(frozen=True, slots=True)
class Crossing:
    """The batch at which a series crosses, over its replicates."""

    outcome: Outcome
    doubt: Doubt | None
    """Only where it cannot be told."""
    lowest_batch: int
    highest_batch: int
    """The measured range."""
    batch: Estimate | None
    """Only where crossed. A bound that lies outside of the range is None."""
    num_replicates: int
    """Replicates that were judged; those that lack an end of the range are left out."""
    num_crossed: int
    """Of these, replicates that cross within the range."""
    num_unsteady: int
    """Of these, replicates that as measured cross more than once, or downwards."""


def find_crossing(curves: Sequence[Curve]) -> Crossing | None:
    """Judge the curves of one series; None where there are fewer than two batches."""
    return _find_crossing(tuple(curves))


@lru_cache(_NUM_REMEMBERED)
def _find_crossing(curves: tuple[Curve, ...]) -> Crossing | None:
    batches = sorted({batch for curve in curves for batch in curve.batches})
    if len(batches) < 2:  # noqa: PLR2004 - a line needs two points
        return None
    lowest, highest = batches[0], batches[-1]
    whole = [c for c in curves if c.batches[:1] == (lowest,) and c.batches[-1:] == (highest,)]
    rising = [Curve(curve.batches, isotonic(curve.log_ratios)) for curve in whole]
    outcome, doubt, batch = _judge(rising, batches)
    return Crossing(
        outcome=outcome,
        doubt=doubt,
        lowest_batch=round(lowest),
        highest_batch=round(highest),
        batch=batch,
        num_replicates=len(whole),
        num_crossed=sum(crossing_batch(curve) is not None for curve in rising),
        num_unsteady=sum(_is_unsteady(curve) for curve in whole),
    )


def _judge(
    rising: Sequence[Curve], batches: Sequence[float]
) -> tuple[Outcome, Doubt | None, Estimate | None]:
    if not rising:
        return Outcome.CANNOT_TELL, Doubt.NOT_COVERED, None
    positions = np.log(batches)
    values = np.array(
        [np.interp(positions, np.log(curve.batches), curve.log_ratios) for curve in rising]
    )
    spans = doubtful_spans(values, positions.tolist()) if len(rising) > 1 else []
    mean = Curve(tuple(batches), tuple(values.mean(axis=0).tolist()))
    middle = crossing_batch(mean)
    if middle is None:
        if spans:
            return Outcome.CANNOT_TELL, Doubt.NEAR_AN_END, None
        side = Outcome.NEVER_BELOW if mean.log_ratios[0] >= 0 else Outcome.NEVER_ABOVE
        return side, None, None
    if len(rising) == 1:
        return Outcome.CROSSED, None, Estimate(median=middle, low=None, high=None, n=1)
    batch = _bounded(middle, spans, positions, n=len(rising))
    if batch.low is None and batch.high is None:
        return Outcome.CANNOT_TELL, Doubt.TOO_WIDE, None
    return Outcome.CROSSED, None, batch


def _bounded(
    middle: float, spans: Sequence[Span], positions: NDArray[np.float64], *, n: int
) -> Estimate:
    """Take the span around the crossing of the mean, where the mean is 0 whatever the spread."""
    here = log(middle)
    around = spans or [(here, here)]  # replicates that agree to the last bit
    low, high = min(around, key=lambda span: max(span[0] - here, here - span[1], 0))
    return Estimate(
        median=middle,
        low=None if low <= positions[0] else min(exp(low), middle),
        high=None if high >= positions[-1] else max(exp(high), middle),
        n=n,
    )


def crossing_batch(curve: Curve) -> float | None:
    """Batch at which a non-decreasing curve reaches 0 from below; None if it does not."""
    pairs = list(zip(curve.batches, curve.log_ratios, strict=True))
    for (left, below), (right, above) in pairwise(pairs):
        if below < 0 <= above:
            share = -below / (above - below)
            return exp(log(left) + share * (log(right) - log(left)))
    return None


def isotonic(values: Sequence[float]) -> tuple[float, ...]:
    """Nearest non-decreasing sequence in least squares."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, size = value, 1
        while blocks and blocks[-1][0] > mean:
            previous, others = blocks.pop()
            mean = (previous * others + mean * size) / (others + size)
            size += others
        blocks.append((mean, size))
    return tuple(mean for mean, size in blocks for _ in range(size))


def _is_unsteady(curve: Curve) -> bool:
    signs = [value >= 0 for value in curve.log_ratios]
    return any(now and not then for now, then in pairwise(signs))
