"""Time of a matrix product from measured ones: a roofline, bent to what was measured near it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from service.analysis.costmodel.fit import fit_relative
from service.analysis.costmodel.prediction import Basis, Prediction, spread_of, within

FEWEST_PRODUCTS = 8
_NEIGHBOURS = 6
_NEAR = 2.0
"""Doublings from the nearest measured product; farther is extrapolation."""
_ROWS = tuple(sorted({round(2 ** (half / 2)) for half in range(61)}))
"""At which a product is predicted, so as to rise in between."""
_HUBER = 0.1
_ROUNDS = 20
_NUM_REMEMBERED = 100
"""Fits that need not be made again: calibrations are few, and asked for often."""


class Work(NamedTuple):
    """What some products come to."""

    num_products: float
    flops: float
    moved_bytes: float


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

    def work(self, *, element_bytes: int) -> Work:
        """Its own alone."""
        return Work(1.0, self.flops, self.num_elements * element_bytes)


class Copy(NamedTuple):
    """An array copied to another."""

    moved_bytes: float
    """Read and written, each byte once."""
    time_us: float

    @property
    def gb_per_s(self) -> float:
        """GB = 1e9 bytes."""
        return self.moved_bytes / self.time_us / 1e3

    @property
    def work(self) -> Work:
        """Memory's alone."""
        return Work(1.0, 0.0, self.moved_bytes)


@dataclass(frozen=True, slots=True)
class Roofline:
    """Launch, arithmetic and memory, one after the other: a smooth form of the two roofs."""

    overhead_us: float
    flops_per_us: float
    bytes_per_us: float

    def time_us(self, product: Product, *, element_bytes: int) -> float:
        """Time of one product; memory alone decides while few rows meet a large matrix."""
        return self.total_us(product.work(element_bytes=element_bytes))

    def total_us(self, work: Work) -> float:
        """Time of several products, one after the other."""
        return (
            work.num_products * self.overhead_us
            + work.flops / self.flops_per_us
            + work.moved_bytes / self.bytes_per_us
        )


@dataclass(frozen=True)
class GemmModel:
    """Measured products of one device and element type."""

    times_us: Mapping[Product, float]
    element_bytes: int
    calibration: str
    copy: Copy | None = None
    """Tells what memory gives where no arithmetic is; None where a calibration had none."""

    def __post_init__(self) -> None:
        if len(self.times_us) < FEWEST_PRODUCTS:
            raise ValueError(
                f"{len(self.times_us)} products are no roofline; {FEWEST_PRODUCTS} are the fewest"
            )

    def predict(self, product: Product) -> Prediction:
        """Time of any product; one far from all that were measured is extrapolation.

        It rises with the number of rows.
        """
        nearest = float(self._distances([product]).min())
        is_near = nearest <= _NEAR
        basis = Basis.MEASURED if is_near else Basis.EXTRAPOLATED
        spread = self.spread * (1 if is_near else nearest / _NEAR)
        return within(self._rising(product), spread, basis=basis, calibration=self.calibration)

    def _rising(self, product: Product) -> float:
        """Isotonic in log time over the rows, half a doubling after the other."""
        rows = [Product(one, product.n, product.k) for one in _ROWS]
        plain = [self.roofline.time_us(one, element_bytes=self.element_bytes) for one in rows]
        times = np.log(plain) + self._bend(self._distances(rows))
        rising = isotonic_regression(times).x
        return math.exp(float(np.interp(math.log2(product.m), np.log2(_ROWS), rising)))

    @cached_property
    def roofline(self) -> Roofline:
        """Over all measured products, and the copy."""
        return fit_products(self.times_us, self.copy, element_bytes=self.element_bytes)

    @cached_property
    def spread(self) -> float:
        """Half width in log time that holds 90 % of the products that were held out."""
        distances = self._distances([*self.times_us])
        np.fill_diagonal(distances, np.inf)
        return spread_of(np.abs(self._bend(distances) - self._bends).tolist())

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

    def _distances(self, products: Sequence[Product]) -> NDArray[np.float64]:
        """Doublings between each of the products, one a row, and each measured one."""
        places = np.log2(np.array(products, float))
        return np.asarray(np.linalg.norm(self._places[None] - places[:, None], axis=2))

    def _bend(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of how far the nearest lie off the roofline, by the inverse square of distance."""
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBOURS]
        weights = 1 / (np.take_along_axis(distances, nearest, axis=1) + 1e-6) ** 2
        weighted = (weights * self._bends[nearest]).sum(axis=1)
        return np.asarray(weighted / weights.sum(axis=1))


def fit_products(
    times_us: Mapping[Product, float], copy: Copy | None, *, element_bytes: int
) -> Roofline:
    """Fit products and a copy, which is work without arithmetic and so tells memory's part."""
    works = [product.work(element_bytes=element_bytes) for product in times_us]
    times = [*times_us.values()]
    if copy is not None:
        works, times = [*works, copy.work], [*times, copy.time_us]
    return fit_roofline(works, times)


def fit_roofline(works: Sequence[Work], times_us: Sequence[float]) -> Roofline:
    """Fit in relative error, outliers losing weight; `works` are what was done in each time."""
    return _fit_roofline(tuple(works), tuple(times_us))


@lru_cache(_NUM_REMEMBERED)
def _fit_roofline(works: tuple[Work, ...], times_us: tuple[float, ...]) -> Roofline:
    terms = np.array(works, float)
    overhead, per_flop, per_byte = fit_relative(terms, times_us, huber=_HUBER, rounds=_ROUNDS)
    return Roofline(overhead, _rate(per_flop), _rate(per_byte))


def merged(points: Sequence[tuple[Product, float]]) -> dict[Product, float]:
    """The median of those that were measured several times."""
    times: dict[Product, list[float]] = {}
    for product, time_us in points:
        times.setdefault(product, []).append(time_us)
    return {product: median(several) for product, several in times.items()}


def largest_copy(points: Sequence[tuple[float, float]]) -> Copy | None:
    """Of moved bytes and times in us: caches hold the smaller ones. The median of several."""
    if not points:
        return None
    largest = max(moved_bytes for moved_bytes, _ in points)
    return Copy(largest, median(time for size, time in points if size == largest))


def _rate(per_unit: float) -> float:
    return 1 / per_unit if per_unit > 0 else math.inf
