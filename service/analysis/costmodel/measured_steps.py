"""A roofline of whole compute-only steps: for points of a device that measured others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from service.analysis.costmodel.gemm import Product, Roofline, fit_roofline
from service.analysis.costmodel.prediction import Basis, Prediction, within
from service.analysis.costmodel.step import products
from workers.contract.point import PointSpec

FEWEST_STEPS = 8
COVERAGE = 0.9
_FOLDS = 5
_BEYOND = 2.0
"""Times the most work that was measured; more is extrapolation."""


@dataclass(frozen=True, slots=True)
class MeasuredSteps:
    """Rates of a device from the steps of other points, pointwise work shared out among them."""

    roofline: Roofline
    spread: float
    """Half width in log time that holds 90 % of the steps that were held out."""
    most_flops: float
    calibration: str

    def product_time(self, product: Product, *, point: PointSpec) -> Prediction:
        """A product's part of a step."""
        time_us = self.roofline.time_us(product, element_bytes=point.dtype.num_bytes)
        is_known = _work(point).flops <= _BEYOND * self.most_flops
        return within(
            time_us,
            self.spread,
            basis=Basis.FITTED if is_known else Basis.EXTRAPOLATED,
            calibration=self.calibration,
        )


@dataclass(frozen=True, slots=True)
class _Work:
    """What the products of a step come to."""

    count: float
    flops: float
    moved_bytes: float


def from_steps(steps: Sequence[tuple[PointSpec, float]], *, calibration: str) -> MeasuredSteps:
    """Fit compute-only times in us. ValueError for fewer than eight different points."""
    if len({point.spec_key for point, _ in steps}) < FEWEST_STEPS:
        raise ValueError(
            f"{len(steps)} steps are no roofline; {FEWEST_STEPS} points are the fewest"
        )
    works = [(_work(point), time_us) for point, time_us in steps]
    errors = []
    for fold in range(_FOLDS):
        roofline = _fit([pair for index, pair in enumerate(works) if index % _FOLDS != fold])
        errors += [
            abs(math.log(_time(roofline, work) / time)) for work, time in works[fold::_FOLDS]
        ]
    return MeasuredSteps(
        roofline=_fit(works),
        spread=sorted(errors)[math.ceil(COVERAGE * len(errors)) - 1],
        most_flops=max(work.flops for work, _ in works),
        calibration=calibration,
    )


def _fit(works: Sequence[tuple[_Work, float]]) -> Roofline:
    return fit_roofline(
        counts=[work.count for work, _ in works],
        flops=[work.flops for work, _ in works],
        moved_bytes=[work.moved_bytes for work, _ in works],
        times_us=[time_us for _, time_us in works],
    )


def _time(roofline: Roofline, work: _Work) -> float:
    return (
        work.count * roofline.overhead_us
        + work.flops / roofline.flops_per_us
        + work.moved_bytes / roofline.bytes_per_us
    )


def _work(point: PointSpec) -> _Work:
    all_products = list(products(point))
    return _Work(
        count=len(all_products),
        flops=sum(one.flops for one in all_products),
        moved_bytes=sum(one.num_elements for one in all_products) * point.dtype.num_bytes,
    )
