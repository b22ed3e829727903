import numpy as np
from numpy.typing import NDArray

from service.analysis.changepoints.robust import Values


def optimal_partition(
    values: Values, *, penalty: float, smallest: int, longest: int
) -> tuple[int, ...]:
    """First points of the second and later segments of the cheapest partition.

    A segment costs its squared deviations from its mean, and `penalty` (Jackson et al. 2005).
    Segments have between `smallest` and `longest` points, the latter at least twice the former. As
    none is shorter than `smallest`, so many endpoints do not depend on each other and are computed
    at once.
    """
    n = values.size
    sums = np.concatenate(([0.0], np.cumsum(values - values.mean()), np.zeros(smallest)))
    places = np.arange(sums.size, dtype=np.float64)
    best = np.full(sums.size, np.inf)  # cost up to a point, less the sum of squares up to it
    best[0] = 0.0
    origin = np.zeros(sums.size, dtype=np.intp)
    rows = np.arange(smallest)
    too_short = rows[:, None] <= rows[:-1]  # an end, and the last starts before it
    for first in range(smallest, n + 1, smallest):
        end = first + smallest
        low = max(0, end - 1 - longest)
        cost = sums[first:end, None] - sums[low:first]
        cost *= -cost
        cost /= places[first:end, None] - places[low:first]
        cost += best[low:first]
        cost[:, first - low - smallest + 1 :][too_short] = np.inf
        chosen = cost.argmin(axis=1)
        origin[first:end] = chosen + low
        best[first:end] = cost[rows, chosen] + penalty
    return _walk_back(origin, n)


def _walk_back(origin: NDArray[np.intp], n: int) -> tuple[int, ...]:
    found: list[int] = []
    end = n
    while (end := int(origin[end])) > 0:
        found.append(end)
    return tuple(reversed(found))
