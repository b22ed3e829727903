"""Time of a matrix product from measured ones: a roofline, bent to what was measured near it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from service.analysis.costmodel.prediction import Basis, Prediction, within

COVERAGE = 0.9
FEWEST_PRODUCTS = 8
_NEIGHBOURS = 6
_NEAR = 2.0
"""Doublings from the nearest measured product; farther is extrapolation."""
_HUBER = 0.1
_ROUNDS = 20


class Product(NamedTuple):
    """x_MK @ w_KN."""

    m: int
    n: int
    k: int

    @property
    def flops(self) -> float:
        """2 for each multiply-add."""
        return 2.0 * self.m * self.n * self.k

    @property
    def num_elements(self) -> float:
        """Read and written at least once."""
        return float(self.m * self.k + self.k * self.n + self.m * self.n)


@dataclass(frozen=True, slots=True)
class Roofline:
    """Launch, arithmetic and memory, one after the other: a smooth form of the two roofs."""

    overhead_us: float
    flops_per_us: float
    bytes_per_us: float

    def time_us(self, product: Product, *, element_bytes: int) -> float:
        """Time of one product; memory alone decides while few rows meet a large matrix."""
        moved = product.num_elements * element_bytes
        return self.overhead_us + product.flops / self.flops_per_us + moved / self.bytes_per_us


@dataclass(frozen=True)
class GemmModel:
    """Measured products of one device and element type."""

    times_us: Mapping[Product, float]
    element_bytes: int
    calibration: str

    def __post_init__(self) -> None:
        if len(self.times_us) < FEWEST_PRODUCTS:
            raise ValueError(
                f"{len(self.times_us)} products are no roofline; {FEWEST_PRODUCTS} are the fewest"
            )

    def predict(self, product: Product) -> Prediction:
        """Time of any product; one far from all that were measured is extrapolation."""
        distances = self._distances(product)
        nearest = float(distances.min())
        time_us = self.roofline.time_us(product, element_bytes=self.element_bytes)
        time_us *= math.exp(self._bend(distances))
        is_near = nearest <= _NEAR
        basis = Basis.MEASURED if is_near else Basis.EXTRAPOLATED
        spread = self.spread * (1 if is_near else nearest / _NEAR)
        return within(time_us, spread, basis=basis, calibration=self.calibration)

    @cached_property
    def roofline(self) -> Roofline:
        """Over all measured products."""
        return fit_roofline(
            counts=[1.0] * len(self.times_us),
            flops=[product.flops for product in self.times_us],
            moved_bytes=[one.num_elements * self.element_bytes for one in self.times_us],
            times_us=list(self.times_us.values()),
        )

    @cached_property
    def spread(self) -> float:
        """Half width in log time that holds 90 % of the products that were held out."""
        errors: list[float] = []
        for index, product in enumerate(self.times_us):
            distances = self._distances(product)
            distances[index] = np.inf
            errors.append(abs(self._bend(distances) - float(self._bends[index])))
        return sorted(errors)[math.ceil(COVERAGE * len(errors)) - 1]

    @cached_property
    def _places(self) -> NDArray[np.float64]:
        return np.asarray(np.log2(np.array(list(self.times_us), float)))

    @cached_property
    def _bends(self) -> NDArray[np.float64]:
        return np.array(
            [
                math.log(time / self.roofline.time_us(product, element_bytes=self.element_bytes))
                for product, time in self.times_us.items()
            ]
        )

    def _distances(self, product: Product) -> NDArray[np.float64]:
        """Doublings between the product and each measured one."""
        place = np.log2(np.array(product, float))
        return np.asarray(np.linalg.norm(self._places - place, axis=1))

    def _bend(self, distances: NDArray[np.float64]) -> float:
        """Mean of how far the nearest lie off the roofline, by the inverse square of distance."""
        nearest = np.argsort(distances, kind="stable")[:_NEIGHBOURS]
        weights = 1 / (distances[nearest] + 1e-6) ** 2
        return float((weights * self._bends[nearest]).sum() / weights.sum())


def fit_roofline(
    *,
    counts: Sequence[float],
    flops: Sequence[float],
    moved_bytes: Sequence[float],
    times_us: Sequence[float],
) -> Roofline:
    """Fit in relative error, outliers losing weight; `counts` are the products in each time."""
    time = np.asarray(times_us, float)
    terms = np.stack([np.asarray(one, float) for one in (counts, flops, moved_bytes)], axis=1)
    relative = terms / time[:, None]
    scale = relative.max(axis=0)
    weight, found = np.ones_like(time), np.zeros(3)
    for _ in range(_ROUNDS):
        found, _residual = nnls(relative / scale * weight[:, None], weight)
        off = np.log(np.maximum(relative @ (found / scale), 1e-9))
        weight = (1 + (off / _HUBER) ** 2) ** -0.25
    overhead, per_flop, per_byte = (float(one) for one in found / scale)
    return Roofline(overhead, _rate(per_flop), _rate(per_byte))


def merged(points: Sequence[tuple[Product, float]]) -> dict[Product, float]:
    """The median of those that were measured several times."""
    times: dict[Product, list[float]] = {}
    for product, time_us in points:
        times.setdefault(product, []).append(time_us)
    return {product: median(several) for product, several in times.items()}


def _rate(per_unit: float) -> float:
    return 1 / per_unit if per_unit > 0 else math.inf
