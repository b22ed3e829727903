import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Basis(StrEnum):
    """What a prediction rests on, the best first."""

    MEASURED = "measured"
    """Interpolated between measured points that are close together."""
    FITTED = "fitted"
    """A fitted curve bridges measured points that are far apart."""
    EXTRAPOLATED = "extrapolated"
    """Beyond what was measured: in size, or to another number of ranks."""
    CATALOGUE = "catalogue"
    """Nothing was measured: published peaks and a formula."""

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Basis).index(self)


COVERAGE = 0.9
"""Share of the held-out points that a band holds."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A time with the band that 90 % of held-out points fell into: see COVERAGE."""

    time_us: float
    low_us: float | None
    """None where nothing was held out, as with a catalogue's figures."""
    high_us: float | None
    basis: Basis
    calibration: str
    """Which measurement or which published figures."""


def spread_of(errors: Sequence[float]) -> float:
    """Half width in log time that will hold 90 % of points like those held out, by their errors.

    Of n + 1 alike, any is as likely to have the largest error: hence the rank 0.9 (n + 1), between
    two errors where it is no whole number, and the largest where there are too few of them.
    """
    place = min(COVERAGE * (len(errors) + 1), len(errors)) - 1
    return float(np.interp(place, np.arange(len(errors)), np.sort(errors)))


def within(time_us: float, spread: float | None, *, basis: Basis, calibration: str) -> Prediction:
    """Put a band around a time; `spread` is the half width in log time."""
    if spread is None:
        return Prediction(time_us, None, None, basis, calibration)
    low, high = time_us * math.exp(-spread), time_us * math.exp(spread)
    return Prediction(time_us, low, high, basis, calibration)


def total(parts: list[Prediction]) -> Prediction:
    """One after the other; errors of one model lean the same way, so that the bands add up too."""
    worst = max((part.basis for part in parts), key=lambda one: one.rank, default=Basis.MEASURED)
    sources = "; ".join(dict.fromkeys(part.calibration for part in parts if part.calibration))
    time_us = sum(part.time_us for part in parts)
    lows = [part.low_us for part in parts if part.low_us is not None]
    highs = [part.high_us for part in parts if part.high_us is not None]
    if len(lows) < len(parts):
        return Prediction(time_us, None, None, worst, sources)
    return Prediction(time_us, sum(lows), sum(highs), worst, sources)
