"""A roofline of whole compute-only steps: for points of a device that measured others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from service.analysis.costmodel.gemm import Product, Roofline, Work, fit_roofline
from service.analysis.costmodel.prediction import Basis, Prediction, spread_of, within
from service.analysis.costmodel.step import products
from workers.contract.point import PointSpec

FEWEST_STEPS = 8
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
            abs(math.log(roofline.total_us(work) / time)) for work, time in works[fold::_FOLDS]
        ]
    return MeasuredSteps(
        roofline=_fit(works),
        spread=spread_of(errors),
        most_flops=max(work.flops for work, _ in works),
        calibration=calibration,
    )


def _fit(works: Sequence[tuple[Work, float]]) -> Roofline:
    return fit_roofline([work for work, _ in works], [time_us for _, time_us in works])


def _work(point: PointSpec) -> Work:
    all_products = list(products(point))
    return Work(
        num_products=len(all_products),
        flops=sum(one.flops for one in all_products),
        moved_bytes=sum(one.num_elements for one in all_products) * point.dtype.num_bytes,
    )
