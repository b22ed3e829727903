"""How much a series scatters about its level, and how much a night resembles the one before."""

import math

import numpy as np

from service.analysis.changepoints.robust import Values

SMALLEST_SPREAD = 1e-9
"""Of values of size 1, or of logarithms, so that a series without any noise can be judged."""
MAD_TO_SIGMA = 1.4826
"""Of a normal distribution: standard deviation over median absolute deviation."""
MEAN_TO_SIGMA = 1.2533
"""The same for the mean absolute deviation."""
KEPT = 0.9


def spread_of_differences(values: Values) -> float:
    """Robust standard deviation of one night, blind to changes of level.

    Where most nights equal the one before (coarse clocks), from the mean of all but the largest.
    """
    steps = np.sort(np.abs(np.diff(values)))
    if not steps.size:
        return 0.0
    middle = (steps[(steps.size - 1) // 2] + steps[steps.size // 2]) / 2
    if middle > 0:
        return float(middle) * MAD_TO_SIGMA / math.sqrt(2)
    return float(steps[: math.ceil(KEPT * steps.size)].mean()) * MEAN_TO_SIGMA / math.sqrt(2)


def autocorrelation(values: Values, starts: tuple[int, ...], *, largest: float) -> float:
    """Upper estimate of the correlation of one night with the next, within segments.

    Each segment is taken in units of its own spread. Removing its mean makes the correlation look
    smaller than it is, by (1 + 3 rho) / length (Kendall 1954); beyond that one standard error is
    added, as too small a value finds changes in noise.
    """
    n = values.size
    bounds = np.array((0, *starts, n))
    lengths = np.diff(bounds)
    segment = np.repeat(np.arange(lengths.size), lengths)
    rest = values - (np.add.reduceat(values, bounds[:-1]) / lengths)[segment]
    squares = np.add.reduceat(rest * rest, bounds[:-1])
    is_noisy = squares > 0
    total = int(lengths[is_noisy].sum())
    if not total:
        return 0.0
    weight = np.where(is_noisy, lengths / np.where(is_noisy, squares, 1.0), 0.0)[segment]
    products = rest[1:] * rest[:-1] * weight[1:]
    raw = float(products[segment[1:] == segment[:-1]].sum()) / total
    mended = raw + (1 + 3 * max(raw, 0.0)) * int(is_noisy.sum()) / total
    return float(np.clip(mended + 1 / np.sqrt(total), 0.0, largest))
