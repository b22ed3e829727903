"""Where one time overtakes another along a series of batches, and how well that is known.

A curve is the logarithm of a ratio at each batch, one curve for each replicate. It crosses where it
goes from below 0 to above. Between two batches it is a straight line over the logarithm of the
batch: both times are near powers of the batch over one step of a grid.

Noise can make a curve cross several times. Each is first made non-decreasing by isotonic regression
(least squares; the pool-adjacent-violators algorithm, Ayer et al. 1955), which leaves one crossing
and changes nothing where a curve rises already. That it was needed is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import exp, log

import numpy as np

from service.analysis.interval import Estimate, estimate


class Outcome(StrEnum):
    """What a series of batches tells about a crossing."""

    CROSSED = "crossed"
    NEVER_BELOW = "never_below"
    """Above 0 from the smallest batch on, in every replicate."""
    NEVER_ABOVE = "never_above"
    """Below 0 up to the largest batch, in every replicate."""
    CANNOT_TELL = "cannot_tell"
    """Replicates disagree about whether it is crossed within the batches."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One replicate: the logarithm of the ratio at each of its batches, which increase."""

    batches: tuple[int, ...]
    log_ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Crossing:
    """The batch at which a series crosses, over its replicates."""

    outcome: Outcome
    lowest_batch: int
    highest_batch: int
    """The measured range."""
    batch: Estimate | None
    """Only where crossed."""
    num_replicates: int
    """Replicates that were judged; those that lack an end of the range are left out."""
    num_crossed: int
    """Of these, replicates that cross within the range."""
    num_unsteady: int
    """Of these, replicates that as measured cross more than once, or downwards."""


def find_crossing(curves: Sequence[Curve], *, rng: np.random.Generator) -> Crossing | None:
    """Judge the curves of one series; None where there are fewer than two batches."""
    batches = {batch for curve in curves for batch in curve.batches}
    if len(batches) < 2:  # noqa: PLR2004 - a line needs two points
        return None
    lowest, highest = min(batches), max(batches)
    whole = [c for c in curves if c.batches[:1] == (lowest,) and c.batches[-1:] == (highest,)]
    rising = [Curve(curve.batches, isotonic(curve.log_ratios)) for curve in whole]
    crossed = [batch for curve in rising if (batch := crossing_batch(curve)) is not None]
    outcome = _outcome(rising, num_crossed=len(crossed))
    return Crossing(
        outcome=outcome,
        lowest_batch=lowest,
        highest_batch=highest,
        batch=estimate(crossed, rng=rng) if outcome is Outcome.CROSSED else None,
        num_replicates=len(whole),
        num_crossed=len(crossed),
        num_unsteady=sum(_is_unsteady(curve) for curve in whole),
    )


def _outcome(rising: Sequence[Curve], *, num_crossed: int) -> Outcome:
    if not rising:
        return Outcome.CANNOT_TELL
    if num_crossed == len(rising):
        return Outcome.CROSSED
    if num_crossed:
        return Outcome.CANNOT_TELL
    above = {curve.log_ratios[0] >= 0 for curve in rising}
    if len(above) > 1:
        return Outcome.CANNOT_TELL
    return Outcome.NEVER_BELOW if above == {True} else Outcome.NEVER_ABOVE


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
