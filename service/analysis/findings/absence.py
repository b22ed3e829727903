"""Nodes that the newest nights say nothing of, while others went on measuring."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.analysis.changepoints.robust import Values

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Absence:
    """One node that is gone."""

    since: int
    """The first night without it."""
    num_nights: int
    """Nights since then that others measured."""
    num_before: int
    """Nights that it measured before."""
    p: float
    """Chance of as many nights in a row without it, by how seldom it stayed away before."""


def absences(times_NCT: Values) -> tuple[Absence | None, ...]:
    """Of each node, by its times (nodes by cases by nights, NaN where there is none).

    Nights that nobody measured say nothing of anybody.
    """
    nights = np.flatnonzero(~np.isnan(times_NCT).all(axis=(0, 1)))
    of_nodes = (np.flatnonzero(~np.isnan(times_CT).all(axis=0)) for times_CT in times_NCT)
    return tuple(_absence(known, nights) for known in of_nodes)


def _absence(known: Places, nights: Places) -> Absence | None:
    if not known.size:
        return None
    later = nights[nights > known[-1]]
    if not later.size:
        return None
    num_possible = int(np.sum((nights >= known[0]) & (nights <= known[-1])))
    seldom = (num_possible - known.size + 1) / (num_possible + 2)  # Laplace's rule of succession
    return Absence(
        since=int(later[0]),
        num_nights=later.size,
        num_before=known.size,
        p=float(seldom**later.size),
    )
