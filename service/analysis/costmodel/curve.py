"""Time over message size, from measured points: between them, beyond them, and how well."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from statistics import median
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression

from service.analysis.costmodel.fit import ThreeTerms, fit_three_terms
from service.analysis.costmodel.prediction import Basis, Prediction, spread_of, within

FEWEST_POINTS = 3
SPARSE = 8.5
"""Neighbours farther apart than this factor are bridged by the fitted curve."""
_NUM_REMEMBERED = 500
_SPIKE = math.log(1.2)
"""A point this far above both neighbours was disturbed: time falls again with a larger message."""


@dataclass(frozen=True)
class TimeCurve:
    """Measured times by ascending size.

    Times are made to rise with size (isotonic in log time), which leaves what rises already as it
    was measured, and joined by a monotone cubic in log-log.
    """

    sizes: tuple[float, ...]
    times_us: tuple[float, ...]
    calibration: str

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]], *, calibration: str) -> Self:
        """From any points; of several with one size the median. ValueError for fewer than three."""
        ordered = sorted((size, time) for size, time in points if size > 0 and time > 0)
        merged = [
            (size, median(time for _, time in same))
            for size, same in groupby(ordered, key=lambda point: point[0])
        ]
        if len(merged) < FEWEST_POINTS:
            raise ValueError(f"{len(merged)} sizes are no curve; {FEWEST_POINTS} are the fewest")
        sizes, times_us = tuple(s for s, _ in merged), tuple(t for _, t in merged)
        return cls._known(sizes, times_us, calibration)

    @classmethod
    @lru_cache(_NUM_REMEMBERED)
    def _known(
        cls, sizes: tuple[float, ...], times_us: tuple[float, ...], calibration: str
    ) -> Self:
        """The same object for the same points, since what it finds out of them is kept in it."""
        return cls(sizes, times_us, calibration)

    def predict(self, size: float) -> Prediction:
        """Time of a message. Rises with size, never negative; beyond the range it is labelled."""
        low, high = self.sizes[0], self.sizes[-1]
        if size < low or size > high:
            distance = math.log2(low / size) if size < low else math.log2(size / high)
            return self._answer(
                self._beyond(size), self.spread * (1 + distance), Basis.EXTRAPOLATED
            )
        after = int(np.searchsorted(self.sizes, size))
        if self.sizes[after] == size or self.sizes[after] / self.sizes[after - 1] <= SPARSE:
            return self._answer(self._between(size), self.spread, Basis.MEASURED)
        bridged = self._bridged(size, after)
        return self._answer(bridged, max(self.spread, self._misfit), Basis.FITTED)

    def _answer(self, time_us: float, spread: float, basis: Basis) -> Prediction:
        return within(time_us, spread, basis=basis, calibration=self.calibration)

    def _between(self, size: float) -> float:
        return math.exp(float(self._smooth(math.log(size))))

    def _bridged(self, size: float, after: int) -> float:
        """The fitted curve, bent so that it meets both neighbours."""
        left, right = self.sizes[after - 1], self.sizes[after]
        bends = [math.log(self._between(one) / self.fitted.time_us(one)) for one in (left, right)]
        share = math.log(size / left) / math.log(right / left)
        time_us = self.fitted.time_us(size) * math.exp(bends[0] + share * (bends[1] - bends[0]))
        return min(max(time_us, self._between(left)), self._between(right))

    def _beyond(self, size: float) -> float:
        edge = self.sizes[0] if size < self.sizes[0] else self.sizes[-1]
        return self._between(edge) * self.fitted.time_us(size) / self.fitted.time_us(edge)

    @cached_property
    def fitted(self) -> ThreeTerms:
        """The three terms over all points."""
        return fit_three_terms(self.sizes, self.times_us)

    @cached_property
    def _smooth(self) -> PchipInterpolator:
        rising = isotonic_regression(_without_spikes(np.log(self.times_us))).x
        return PchipInterpolator(np.log(self.sizes), rising)

    @cached_property
    def _misfit(self) -> float:
        pairs = zip(self.sizes, self.times_us, strict=True)
        return spread_of([abs(math.log(t / self.fitted.time_us(s))) for s, t in pairs])

    @cached_property
    def held_out_errors(self) -> tuple[float, ...]:
        """Log of predicted over measured at each inner point, predicted from all others."""
        return tuple(
            math.log(self._without(index).predict(size).time_us / self.times_us[index])
            for index, size in enumerate(self.sizes[1:-1], start=1)
        )

    @cached_property
    def spread(self) -> float:
        """Half width in log time that holds 90 % of the points that were held out.

        While a point is held out its neighbours are twice as far apart as in use: no need to be
        wider.
        """
        if len(self.sizes) <= FEWEST_POINTS:
            return self._misfit
        return spread_of([abs(error) for error in self.held_out_errors])

    def _without(self, index: int) -> "TimeCurve":
        return _Unbanded(
            self.sizes[:index] + self.sizes[index + 1 :],
            self.times_us[:index] + self.times_us[index + 1 :],
            self.calibration,
        )


class _Unbanded(TimeCurve):
    """A curve whose own band nobody asks for."""

    @cached_property
    def spread(self) -> float:
        """None is needed while points are held out."""
        return 0.0


def _without_spikes(log_times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower each single point that stands above both neighbours to the higher one."""
    flat = log_times.copy()
    for index in range(1, len(flat) - 1):
        around = max(flat[index - 1], flat[index + 1])
        if flat[index] > around + _SPIKE:
            flat[index] = around
    return flat
