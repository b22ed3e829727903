"""What is known of one TP degree's step: measured here, or predicted."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import NamedTuple, Self

import numpy as np

from service.analysis.interval import Estimate, estimate
from workers.contract.point import PointSpec


class Basis(StrEnum):
    """Where a step time comes from."""

    MEASURED = "measured"
    PREDICTED = "predicted"
    """By the calibrated cost model, or, where nothing was calibrated, by published peaks."""


class Ends(NamedTuple):
    """The least and the most that something takes."""

    low_us: float
    high_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """What a prediction may be off by: errors that predictions of other TP degrees share, and own.

    A device that multiplies slower than thought does so at every degree, and that cancels in a
    ratio, but for the communication beside it.
    """

    compute: Ends
    communication: Ends
    """Both as far as other degrees share them."""
    own: float
    """Half width in log time, independent of other degrees."""

    @classmethod
    def independent(cls, step_us: float, *, own: float) -> Self:
        """Nothing is shared."""
        return cls(compute=Ends(step_us, step_us), communication=Ends(0, 0), own=own)

    @classmethod
    def added(cls, parts: Sequence[Self]) -> Self:
        """Of one after the other; what is their own leans the same way in all, at worst."""
        return cls(
            compute=_total([one.compute for one in parts]),
            communication=_total([one.communication for one in parts]),
            own=max(one.own for one in parts),
        )


def _total(ends: Sequence[Ends]) -> Ends:
    return Ends(sum(one.low_us for one in ends), sum(one.high_us for one in ends))


@dataclass(frozen=True, slots=True)
class Evidence:
    """A layer's step at one TP degree, or of those of its blocks that were measured."""

    basis: Basis
    step_us: float
    ends: Ends | None
    """The interval over replicates, or the prediction's band; None of one replicate."""
    communication_share: float
    label: str
    """What exactly was measured or predicted: blocks, batch, sequence, dtype."""
    replicates: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """Step times by sweep and replicate, where measured."""
    errors: Errors | None = None
    """Where predicted."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """One point's step as a cost model has it."""

    step_us: float
    low_us: float
    high_us: float
    communication_share: float
    """Exposed."""
    label: str
    errors: Errors


Predictor = Callable[[PointSpec], Predicted | None]
"""None where the model knows nothing of the point, its hardware or its TP degree."""


def speed_up(smaller: Evidence, larger: Evidence, *, rng: np.random.Generator) -> Estimate:
    """Step time of the smaller degree over that of the larger; above 1 the larger is faster.

    Replicates that measured both are compared each with itself. Of two predictions shared errors
    are the same in both, own ones add up as independent errors do. Else outer ends bound it, and
    nothing does where one replicate is all there is of either.
    """
    common = sorted(smaller.replicates.keys() & larger.replicates.keys())
    if len(common) > 1:
        ratios = [smaller.replicates[key] / larger.replicates[key] for key in common]
        return estimate(ratios, rng=rng)
    middle = smaller.step_us / larger.step_us
    if smaller.ends is None or larger.ends is None:
        return Estimate(median=middle, low=None, high=None, n=len(common))
    if smaller.errors and larger.errors:
        bounds = _ratio_of_predictions(smaller.errors, larger.errors)
    else:
        bounds = Ends(
            smaller.ends.low_us / larger.ends.high_us, smaller.ends.high_us / larger.ends.low_us
        )
    return Estimate(
        median=middle, low=min(*bounds, middle), high=max(*bounds, middle), n=len(common)
    )


def _ratio_of_predictions(smaller: Errors, larger: Errors) -> Ends:
    """Compute and communication each at either end, the same one in both."""
    corners = [
        (smaller.compute[at] + smaller.communication[sent])
        / (larger.compute[at] + larger.communication[sent])
        for at, sent in product(range(2), repeat=2)
    ]
    own = math.exp(math.hypot(smaller.own, larger.own))
    return Ends(min(corners) / own, max(corners) * own)
