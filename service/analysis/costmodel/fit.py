"""a + S/B + c*sqrt(S), fitted in log time: latency, bandwidth, and what lies between protocols.

Fitted in plain time the large messages would decide alone. Two parameters are not enough, since
protocols and algorithms change with size; the root term bends where they do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

_HUBER = 0.05
"""Residuals in log time beyond which a point loses weight."""
_ROUNDS = 25


@dataclass(frozen=True, slots=True)
class ThreeTerms:
    """Coefficients, none negative: the curve rises with size and is never negative."""

    latency_us: float
    us_per_byte: float
    us_per_root_byte: float

    def time_us(self, size: float) -> float:
        """Time of a message."""
        return self.latency_us + self.us_per_byte * size + self.us_per_root_byte * math.sqrt(size)


def fit_three_terms(sizes: Sequence[float], times_us: Sequence[float]) -> ThreeTerms:
    """Least squares of relative errors, in which outliers lose weight round by round."""
    size = np.asarray(sizes, float)
    terms = np.stack([np.ones_like(size), size, np.sqrt(size)], axis=1)
    return ThreeTerms(*fit_relative(terms, times_us, huber=_HUBER, rounds=_ROUNDS))


def fit_relative(
    terms: NDArray[np.float64], times_us: Sequence[float], *, huber: float, rounds: int
) -> list[float]:
    """Coefficients of the columns of `terms`, none negative, by least squares of relative errors.

    Round by round a point loses weight whose residual in log time is beyond `huber`.
    """
    time = np.asarray(times_us, float)
    relative = terms / time[:, None]
    scale = relative.max(axis=0)
    weight, found = np.ones_like(time), np.zeros(terms.shape[1])
    for _ in range(rounds):
        found, _residual = nnls(relative / scale * weight[:, None], weight)
        off = np.log(np.maximum(relative @ (found / scale), 1e-9))
        weight = (1 + (off / huber) ** 2) ** -0.25
    coefficients: list[float] = (found / scale).tolist()
    return coefficients
