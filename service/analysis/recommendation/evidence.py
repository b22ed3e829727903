"""What is known of one TP degree's step: measured here, or predicted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from service.analysis.interval import Estimate, estimate
from workers.contract.point import PointSpec


class Basis(StrEnum):
    """Where a step time comes from."""

    MEASURED = "measured"
    PREDICTED = "predicted"
    """By the calibrated cost model, or, where nothing was calibrated, by published peaks."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A layer's step at one TP degree, or of those of its blocks that were measured."""

    basis: Basis
    step_us: float
    low_us: float
    high_us: float
    """The interval over replicates, or the prediction's band."""
    communication_share: float
    label: str
    """What exactly was measured or predicted: blocks, batch, sequence, dtype."""
    replicates: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """Step times by sweep and replicate, where measured."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """One point's step as a cost model has it."""

    step_us: float
    low_us: float
    high_us: float
    communication_share: float
    """Exposed."""
    label: str


Predictor = Callable[[PointSpec], Predicted | None]
"""None where the model knows nothing of the point, its hardware or its TP degree."""


def speed_up(smaller: Evidence, larger: Evidence, *, rng: np.random.Generator) -> Estimate:
    """Step time of the smaller degree over that of the larger; above 1 the larger is faster.

    Replicates that measured both are compared each with itself. Two predictions of one model err to
    the same side, so their best cases are compared, and their worst. Else outer ends bound it.
    """
    common = sorted(smaller.replicates.keys() & larger.replicates.keys())
    if len(common) > 1:
        ratios = [smaller.replicates[key] / larger.replicates[key] for key in common]
        return estimate(ratios, rng=rng)
    if smaller.basis is larger.basis is Basis.PREDICTED:
        bounds = (smaller.low_us / larger.low_us, smaller.high_us / larger.high_us)
    else:
        bounds = (smaller.low_us / larger.high_us, smaller.high_us / larger.low_us)
    middle = smaller.step_us / larger.step_us
    return Estimate(
        median=middle, low=min(*bounds, middle), high=max(*bounds, middle), n=len(common)
    )
