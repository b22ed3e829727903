"""Where a mean curve may be zero: Fieller's confidence set, inverted from Student's t.

Each replicate is one broken line. At a position x its value is known, so the values of all
replicates at x are a sample, and x belongs to the set unless their mean differs from 0 beyond
chance. At the true zero that fails in 5 of 100 cases whatever the spread, the number of replicates
or the edges of the range; the spread of per-replicate zeros, which may lie outside of the range or
not exist, is never needed. E. C. Fieller, "Some Problems in Interval Estimation", 1954.

Within one piece the mean is linear and its variance quadratic in x, so the set's ends are roots.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from service.analysis.interval import student_quantile

Span = tuple[float, float]
Parabola = tuple[float, float, float]
"""ax**2 + bx + c."""


def doubtful_spans(values: NDArray[np.float64], positions: Sequence[float]) -> list[Span]:
    """Spans of positions at which the mean may be 0, in order.

    `values` has one row for each of at least two replicates, one column for each position.
    """
    found: list[Span] = []
    pieces = zip(pairwise(positions), _parabolas(values), strict=True)
    for (left, right), (a, b, c) in pieces:
        for low, high in _not_above_zero(a, b, c):
            end = right if high == 1 else left + high * (right - left)  # which rounding may miss
            span = (left + low * (right - left), end)
            if found and found[-1][1] == span[0]:
                span = (found.pop()[0], span[1])
            found.append(span)
    return found


def _parabolas(values: NDArray[np.float64]) -> list[Parabola]:
    """Of each piece, over [0, 1] from its left to its right: mean**2 - t**2 * variance / n."""
    n = len(values)
    scale = student_quantile(n - 1) ** 2 / n / (n - 1)
    mean = values.mean(axis=0)
    slope, off = np.diff(mean), values - mean
    turn, off = np.diff(off, axis=1), off[:, :-1]
    a = slope**2 - scale * (turn * turn).sum(axis=0)
    b = 2 * (mean[:-1] * slope - scale * (off * turn).sum(axis=0))
    c = mean[:-1] ** 2 - scale * (off * off).sum(axis=0)
    return list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))


def _not_above_zero(a: float, b: float, c: float) -> Iterator[Span]:
    """Parts of [0, 1] where the parabola is not above 0."""
    ends = [0.0, *sorted(root for root in _roots(a, b, c) if 0 < root < 1), 1.0]
    for low, high in pairwise(ends):
        middle = (low + high) / 2
        if (a * middle + b) * middle + c <= 0:
            yield low, high


def _roots(a: float, b: float, c: float) -> tuple[float, ...]:
    """Real roots of ax**2 + bx + c."""
    if a == 0:
        return () if b == 0 else (-c / b,)
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        return ()
    far = -(b + (sqrt(discriminant) if b >= 0 else -sqrt(discriminant))) / 2
    return (far / a, c / far) if far else (0.0,)
