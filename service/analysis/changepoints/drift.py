"""A slow change: a line explains some stretch of nights better than levels with steps do."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from service.analysis.changepoints.noise import autocorrelation
from service.analysis.changepoints.parameters import Parameters
from service.analysis.changepoints.robust import Values, median
from service.analysis.changepoints.series import Series
from service.analysis.changepoints.spikes import Filtered

MOST_BOUNDARIES = 8
SMALLEST_MEAN_SQUARE = 1e-18
"""Of residuals, for values of size 1, so that a series without noise can be judged."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A confirmed drift; places count the nights that have a value."""

    start: int
    end: int
    """First night that is no part of it."""
    p: float
    before: float
    after: float
    """Ends of the line, in the series' unit."""

    @property
    def is_rise(self) -> bool:
        """Whether it goes up."""
        return self.after > self.before


def find_drift(
    series: Series, filtered: Filtered, starts: Sequence[int], parameters: Parameters
) -> Slope | None:
    """Find the stretch between regimes' bounds that is most like a line, and test it.

    The test is Mann and Kendall's, with its variance raised by what neighbours have in common, and
    the size is Theil and Sen's: neither minds a few wild nights.
    """
    first = max(0, len(series) - parameters.drift_nights)
    bounds = [first, *(start for start in starts if start > first), len(series)]
    stretches = list(_stretches(bounds[-MOST_BOUNDARIES:], parameters.fewest_drift_nights))
    if not stretches:
        return None
    gains = [_gain_of_line(filtered.values, low, high, starts) for low, high in stretches]
    best = int(np.argmax(gains))
    if gains[best] <= 0:
        return None
    low, high = stretches[best]
    values = filtered.values[low:high]
    p = min(1.0, _trend_p(values, parameters) * len(stretches))
    before, after = _ends(np.where(filtered.is_spike, np.nan, series.raw)[low:high])
    slope = Slope(start=low, end=high, p=p, before=before, after=after)
    least = parameters.smallest_drift * abs(before) if series.is_positive else 0.0
    is_large = abs(after - before) >= max(least, parameters.smallest_absolute)
    return slope if is_large and p <= parameters.largest_drift_p else None


def _stretches(bounds: Sequence[int], fewest: int) -> Iterator[tuple[int, int]]:
    for i, low in enumerate(bounds):
        for high in bounds[i + 1 :]:
            if high - low >= fewest:
                yield low, high


def _gain_of_line(values: Values, low: int, high: int, starts: Sequence[int]) -> float:
    """How much better a line is than levels, in twice the log-likelihood (Schwarz 1978)."""
    part, n = values[low:high], high - low
    inner = [start - low for start in starts if low < start < high]
    line = _bic(_squares_about_line(part), n, 2)
    levels = sum(_squares_about_mean(piece) for piece in np.split(part, inner))
    steps = _bic(levels, n, 2 * len(inner) + 1)
    if not inner:
        steps = min(steps, _bic(_squares_about_one_step(part), n, 3))
    return steps - line


def _bic(squares: float, n: int, num_parameters: int) -> float:
    fit = n * math.log(max(squares / n, SMALLEST_MEAN_SQUARE))
    return fit + num_parameters * math.log(n)


def _squares_about_mean(values: Values) -> float:
    return float(np.square(values - values.mean()).sum())


def _squares_about_line(values: Values) -> float:
    time = np.arange(values.size) - (values.size - 1) / 2
    slope = float((time * values).sum()) / float((time * time).sum())
    return _squares_about_mean(values - slope * time)


def _squares_about_one_step(values: Values) -> float:
    n = values.size
    sums = np.cumsum(values - values.mean())[:-1]
    before = np.arange(1.0, n)
    return _squares_about_mean(values) - float((sums * sums * n / (before * (n - before))).max())


def _trend_p(values: Values, parameters: Parameters) -> float:
    """Mann and Kendall's two-sided p-value."""
    n = values.size
    time = np.arange(n) - (n - 1) / 2
    line = values.mean() + time * float((time * values).sum()) / float((time * time).sum())
    rho = autocorrelation(values - line, (), largest=parameters.largest_autocorrelation)
    score = float(np.sign(np.triu(values[None, :] - values[:, None])).sum())
    variance = n * (n - 1) * (2 * n + 5) / 18 * (1 + rho) / (1 - rho)
    return 2 * float(ndtr(-abs(score) / np.sqrt(variance)))


def _ends(values: Values) -> tuple[float, float]:
    """Where Theil and Sen's line begins and ends."""
    time = np.flatnonzero(~np.isnan(values))
    known = values[time]
    before, after = np.triu_indices(known.size, 1)
    slope = median((known[after] - known[before]) / (time[after] - time[before]))
    start = median(known - slope * time)
    return start, start + slope * (values.size - 1)
