"""How well a figure is known: 95 % intervals over replicates.

The unit is the replicate, one set of fresh processes. Steps within one are not independent: an
interval over them missed the pooled median in 8 of 8 fresh process groups where this was tried.

Below ten replicates the interval is Student's t on the logarithms, whose spread between process
groups is closer to normal than that of the times; there a percentile bootstrap covers only 75 to
88 % instead of 95. From ten on it is a bootstrap over replicates of their median, which asks for no
distribution at all.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from service.analysis.spread import standard_deviation

Values = NDArray[np.float64]

CONFIDENCE = 0.95
POWER = 0.95
"""How surely a change of the size that is called detectable would have been found."""
FEWEST_FOR_BOOTSTRAP = 10
NUM_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantity over replicates: the median of its values, and where the true one may lie."""

    median: float
    low: float | None
    high: float | None
    """Bounds of the interval; None where one replicate cannot give any."""
    n: int
    """Replicates."""


def estimate(values: Sequence[float], *, rng: np.random.Generator) -> Estimate:
    """Estimate a quantity that is always positive, such as a time. `rng` is for the bootstrap."""
    return _estimate(values, rng=rng, student=_student_of_logs)


def estimate_signed(values: Sequence[float], *, rng: np.random.Generator) -> Estimate:
    """Estimate a quantity that may be 0 or less, such as exposed communication."""
    return _estimate(values, rng=rng, student=student)


def student(values: Sequence[float]) -> tuple[float, float]:
    """Student's t interval of the mean of at least two values."""
    n = len(values)
    centre = statistics.fmean(values)
    half = student_quantile(n - 1) * standard_deviation(values) / sqrt(n)
    return centre - half, centre + half


def student_quantile(degrees_of_freedom: float) -> float:
    """How many standard errors the two-sided interval reaches to each side."""
    return float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2))


def errors_to_detect(level: float, degrees_of_freedom: Values) -> Values:
    """How many standard errors off a mean must be for a one-sided t test to find it, mostly.

    The test is at `level`; mostly is with probability POWER. Johnson and Welch's approximation of
    the noncentral t (1940), within 2 % from 2 degrees of freedom on.
    """
    critical = np.asarray(stdtrit(degrees_of_freedom, 1 - level), dtype=np.float64)
    spread = np.sqrt(1 + critical**2 / (2 * degrees_of_freedom))
    return critical * (1 - 1 / (4 * degrees_of_freedom)) + float(ndtri(POWER)) * spread


def _student_of_logs(values: Sequence[float]) -> tuple[float, float]:
    low, high = student([log(value) for value in values])
    return exp(low), exp(high)


def _estimate(
    values: Sequence[float],
    *,
    rng: np.random.Generator,
    student: Callable[[Sequence[float]], tuple[float, float]],
) -> Estimate:
    """The t interval is about the mean: where skew puts the median outside, it is widened."""
    median = statistics.median(values)
    if len(values) == 1:
        return Estimate(median=median, low=None, high=None, n=1)
    is_large = len(values) >= FEWEST_FOR_BOOTSTRAP
    low, high = _bootstrap_of_median(values, rng) if is_large else student(values)
    return Estimate(median=median, low=min(low, median), high=max(high, median), n=len(values))


def _bootstrap_of_median(values: Sequence[float], rng: np.random.Generator) -> tuple[float, float]:
    sample = np.sort(np.asarray(values, dtype=np.float64))  # in whatever order rows were read
    picks = rng.integers(0, sample.size, size=(NUM_RESAMPLES, sample.size))
    medians = np.median(sample[picks], axis=1)
    low, high = np.quantile(medians, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return float(low), float(high)
