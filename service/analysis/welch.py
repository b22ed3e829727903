"""Welch's and Student's t tests of many points at once, on logarithms of times.

Where a side spans several sweeps, its replicates are not alike: those of one night share that
night. So the error of its mean is taken twice, from the spread of all replicates and from that of
the sweeps' own means, and the larger one counts, with its own degrees of freedom.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from service.analysis.interval import CONFIDENCE, Values

Groups = Sequence[slice]
"""Columns of each sweep."""

SMALLEST_SQUARE = 1e-24
"""Of a standard error: replicates that agree to the last digit are not known any better."""
FEWEST_SWEEPS = 2
"""Sweeps on a side from which on their own spread can be told."""


@dataclass(frozen=True, slots=True)
class Tests:
    """One row for each point, logarithms; NaN where a side has fewer than two replicates."""

    centre: Values
    low: Values
    high: Values
    p: Values
    """Two-sided, of the change being within the tolerance."""
    error: Values
    freedom: Values
    normalised: tuple[Values, Values, Values]
    """Centre and interval of the normalised comparison; NaN where there is none."""


def welch_test(
    old: Values, new: Values, *, tolerance: float, sweeps: tuple[Groups, Groups]
) -> Tests:
    """Welch's t test and interval of the difference of means, row by row."""
    old_n, old_mean, old_error = _moments(old, sweeps[0])
    new_n, new_mean, new_error = _moments(new, sweeps[1])
    total = np.maximum(old_error + new_error, SMALLEST_SQUARE)
    freedom = total**2 / np.maximum(
        old_error**2 / np.maximum(old_n - 1, 1) + new_error**2 / np.maximum(new_n - 1, 1), 1e-60
    )
    freedom = np.clip(freedom, 1, np.maximum(old_n + new_n - 2, 1))
    unknown = (old_n == 1) | (new_n == 1)
    return _tests(new_mean - old_mean, total, freedom, unknown, tolerance=tolerance)


def paired_test(
    old: Values, new: Values, *, tolerance: float, sweeps: tuple[Groups, Groups]
) -> Tests:
    """Student's t test and interval of the mean difference, row by row.

    A column is one trial on both sides, whose luck falls on both and drops out.
    """
    n, mean, error = _moments(new - old, sweeps[0])
    total = np.maximum(error, SMALLEST_SQUARE)
    return _tests(mean, total, np.maximum(n - 1, 1), n == 1, tolerance=tolerance)


def _tests(
    centre: Values,
    squared_error: Values,
    freedom: Values,
    unknown: NDArray[np.bool_],
    *,
    tolerance: float,
) -> Tests:
    error = np.sqrt(squared_error)
    above, below = centre - np.log1p(tolerance), np.log1p(-tolerance) - centre
    p = np.minimum(2 * stdtr(freedom, -np.maximum(above, below) / error), 1)
    half_width = np.asarray(stdtrit(freedom, (1 + CONFIDENCE) / 2) * error, dtype=np.float64)
    half_width[unknown] = p[unknown] = np.nan
    unmeasured = np.full(centre.shape, np.nan)
    return Tests(
        centre=centre,
        low=centre - half_width,
        high=centre + half_width,
        p=p,
        error=error,
        freedom=freedom,
        normalised=(unmeasured, unmeasured, unmeasured),
    )


def over_both(measured: Tests, quiet: Tests, known: NDArray[np.bool_]) -> Tests:
    """The comparison as measured, as far as the normalised one of the known rows bears it out."""
    low, high, p = measured.low.copy(), measured.high.copy(), measured.p.copy()
    error, freedom = measured.error.copy(), measured.freedom.copy()
    normalised = np.full((3, *low.shape), np.nan)
    low[known], high[known] = np.minimum(low[known], quiet.low), np.maximum(high[known], quiet.high)
    p[known] = np.maximum(p[known], quiet.p)
    error[known] = np.maximum(error[known], quiet.error)
    freedom[known] = np.minimum(freedom[known], quiet.freedom)
    normalised[:, known] = quiet.centre, quiet.low, quiet.high
    centre, narrow, wide = normalised
    return Tests(measured.centre, low, high, p, error, freedom, (centre, narrow, wide))


def _moments(values: Values, sweeps: Groups) -> tuple[Values, Values, Values]:
    """Number, mean and squared standard error of each row's values, the sweeps' where larger."""
    n, mean, error = _spread(values)
    if len(sweeps) < FEWEST_SWEEPS:
        return n, mean, error
    present = [~np.isnan(values[:, columns]).all(axis=1) for columns in sweeps]
    means = np.full((len(values), len(sweeps)), np.nan)
    for at, (columns, rows) in enumerate(zip(sweeps, present, strict=True)):
        means[rows, at] = np.nanmean(values[rows, columns], axis=1)
    num_sweeps, _, between = _spread(means)
    wider = (num_sweeps >= FEWEST_SWEEPS) & (between > error)
    return np.where(wider, num_sweeps, n), mean, np.where(wider, between, error)


def _spread(values: Values) -> tuple[Values, Values, Values]:
    n = np.sum(~np.isnan(values), axis=1).astype(np.float64)
    mean = np.nansum(values, axis=1) / n
    squares = np.nansum((values - mean[:, None]) ** 2, axis=1)
    return n, mean, squares / np.maximum(n - 1, 1) / n
