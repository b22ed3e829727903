"""Tier 1: whether a night looks wrong the morning after, against the nights before it alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.analysis.changepoints.noise import SMALLEST_SPREAD
from service.analysis.changepoints.parameters import Parameters
from service.analysis.changepoints.robust import Values, median
from service.analysis.changepoints.series import Series

Counts = NDArray[np.intp]

SHARE = 0.8
SHARE_IN_SIGMA = 1.2816
"""Of a normal distribution, this share of nights is within so many standard deviations. Unlike the
median deviation it still sees the second mode of a series that has two."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A night to be measured again; `place` counts the nights that have a value."""

    place: int
    z: float
    reference: float
    """Median of the nights before, in the series' unit."""


def find_suspects(series: Series, parameters: Parameters) -> tuple[Suspect, ...]:
    """Each night that was suspect when it was the newest."""
    width, fewest = parameters.suspect_reference, parameters.fewest_reference
    n = len(series)
    if n <= fewest:
        return ()
    padded = np.concatenate((np.full(width, np.nan), series.scaled))
    before = np.lib.stride_tricks.sliding_window_view(padded[:-1], width)[fewest:]
    centre, spread = _centre_and_spread(before, np.minimum(np.arange(fewest, n), width))
    away = series.scaled[fewest:] - centre
    z = away / np.maximum(spread, SMALLEST_SPREAD)
    least = np.log1p(parameters.suspect_relative) if series.is_positive else 0.0
    is_suspect = (np.abs(z) > parameters.suspect_z) & (np.abs(away) > least)
    return tuple(
        Suspect(
            place=place + fewest,
            z=float(z[place]),
            reference=median(series.raw[max(0, place + fewest - width) : place + fewest]),
        )
        for place in np.flatnonzero(is_suspect).tolist()
    )


def _centre_and_spread(windows: Values, counts: Counts) -> tuple[Values, Values]:
    """Median and robust standard deviation of each row, of which the last `counts` are filled."""
    rows = np.arange(counts.size)
    ordered = np.sort(windows, axis=1)  # NaN last
    centre = (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2
    away = np.sort(np.abs(windows - centre[:, None]), axis=1)
    return centre, away[rows, np.ceil(SHARE * counts).astype(np.intp) - 1] / SHARE_IN_SIGMA
