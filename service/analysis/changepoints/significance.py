"""Whether the level changes within a stretch of nights, given that neighbours are correlated.

The nights are level plus noise of which each carries `rho` of the one before. Taking that away
(generalised least squares; Prais and Winsten 1954) leaves independent noise, and a change of level
that is sharpest on its first night. Without correlation this is Student's t test of two means.

The place of a change is searched in the data that it is tested on, so its p-value is multiplied by
the number of places tried (Bonferroni): honest for any search, and no random number is needed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from service.analysis.changepoints.noise import SMALLEST_SPREAD
from service.analysis.changepoints.robust import Values


@dataclass(frozen=True, slots=True)
class Step:
    """The likeliest change of level in a stretch: `at` is its first night after."""

    at: int
    p: float
    """Two-sided, corrected for the search."""


def likeliest_step(values: Values, *, rho: float, smallest: int, surplus: float = 0.0) -> Step:
    """Find the best split with at least `smallest` nights on each side, and test it.

    `surplus` is a sum of squares that is noise too, though it was filtered from the values.
    """
    t = step_statistics(values, rho=rho, surplus=surplus)
    n = values.size
    allowed = np.abs(t[smallest : n - smallest + 1])
    place = int(allowed.argmax())
    p = 2 * float(stdtr(n - 3, -allowed[place]))
    return Step(at=place + smallest, p=min(1.0, p * allowed.size))


def step_statistics(values: Values, *, rho: float, surplus: float = 0.0) -> Values:
    """Statistic t of a step at each night of at least 4; 0 at the first, before which is none.

    Values of about size 1. One degree of freedom is left out for the place.
    """
    n = values.size
    centred = values - values.mean()
    white = centred.copy()
    white[1:] -= rho * centred[:-1]
    white[0] *= np.sqrt(1 - rho * rho)
    level = np.full(n, 1 - rho)
    level[0] = np.sqrt(1 - rho * rho)
    after = np.arange(n - 1.0, -1.0, -1.0)  # a step, whitened: 1 at its night, 1 - rho after it
    step_white = rho * white + (1 - rho) * np.cumsum(white[::-1])[::-1]
    step_level = (1 - rho) * (1 + (1 - rho) * after)
    step_step = 1 + (1 - rho) ** 2 * after
    level_level = float((level * level).sum())
    level_white = float((level * white).sum())
    found = step_white - step_level * level_white / level_level
    scale = step_step - step_level**2 / level_level
    found[0], scale[0] = 0.0, 1.0
    unexplained = float((white * white).sum()) - level_white**2 / level_level - found**2 / scale
    variance = (np.maximum(unexplained, 0.0) + surplus) / (n - 3)
    return np.asarray(found / np.sqrt(scale * np.maximum(variance, SMALLEST_SPREAD**2)))


def superiority(before: Values, after: Values) -> float:
    """Share of pairs in which the night after is on the side that most are; ties count half."""
    ordered = np.sort(before)
    below = np.searchsorted(ordered, after, side="left")
    not_above = np.searchsorted(ordered, after, side="right")
    share = float((below + not_above).sum()) / (2 * before.size * after.size)
    return max(share, 1 - share)
