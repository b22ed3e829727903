"""A series that became noisy, or quiet: its own kind of finding."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.analysis.changepoints.noise import autocorrelation
from service.analysis.changepoints.parameters import Parameters
from service.analysis.changepoints.robust import median
from service.analysis.changepoints.series import Series
from service.analysis.changepoints.significance import likeliest_step
from service.analysis.changepoints.spikes import Filtered

SMALLEST_DISTANCE = 1e-9
"""Of the largest; less than that is no spread to speak of."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A confirmed change of spread; places count the nights that have a value."""

    place: int
    """First night of the new spread."""
    p: float
    ratio: float
    """Median distance from the level, after over before."""

    @property
    def is_rise(self) -> bool:
        """Whether it became noisier."""
        return self.ratio > 1


def find_dispersion(
    series: Series, filtered: Filtered, starts: Sequence[int], parameters: Parameters
) -> Spread | None:
    """Brown and Forsythe's test, that of levels on distances from the median, at its best place.

    Only the newest nights are looked at, and a spike counts no more than the farthest that is none.
    """
    first = max(0, len(series) - parameters.drift_nights)
    fewest = parameters.dispersion_nights
    if len(series) - first < 2 * fewest:
        return None
    pieces = np.split(filtered.clipped, list(starts))
    distance = np.abs(np.concatenate([piece - median(piece) for piece in pieces]))[first:]
    largest = float(distance.max())
    if not largest:
        return None
    distance = distance / largest
    guess = likeliest_step(distance, rho=0.0, smallest=fewest)
    if guess.p > parameters.largest_dispersion_p:
        return None
    rho = autocorrelation(distance, (guess.at,), largest=parameters.largest_autocorrelation)
    step = likeliest_step(distance, rho=rho, smallest=fewest)
    before, after = (median(side) for side in np.split(distance, [step.at]))
    if step.p > parameters.largest_dispersion_p or min(before, after) < SMALLEST_DISTANCE:
        return None
    ratio = after / before
    if max(ratio, 1 / ratio) < parameters.smallest_dispersion_ratio:
        return None
    return Spread(place=first + step.at, p=step.p, ratio=ratio)
