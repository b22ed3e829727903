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
    size, time = np.asarray(sizes, float), np.asarray(times_us, float)
    relative = np.stack([np.ones_like(size), size, np.sqrt(size)], axis=1) / time[:, None]
    scale = relative.max(axis=0)
    weight = np.ones_like(time)
    found = np.zeros(3)
    for _ in range(_ROUNDS):
        found, _residual = nnls(relative / scale * weight[:, None], weight)
        weight = _weights(relative @ (found / scale))
    latency, per_byte, per_root = (float(one) for one in found / scale)
    return ThreeTerms(latency, per_byte, per_root)


def _weights(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    residual = np.log(np.maximum(ratio, 1e-9))
    return np.asarray((1 + (residual / _HUBER) ** 2) ** -0.25)
