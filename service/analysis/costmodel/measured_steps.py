"""A roofline of whole compute-only steps: for points of a device that measured others.

How well it carries over to another shape is told by shapes that were measured: each is predicted
from the others. So is what a ratio of two TP degrees is off by, in which much of that cancels.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import median

from service.analysis.costmodel.gemm import Product, Roofline, Work, fit_roofline
from service.analysis.costmodel.prediction import Basis, Prediction, spread_of, within
from service.analysis.costmodel.step import products
from workers.contract.point import PointSpec

FEWEST_STEPS = 8
_FEWEST_KNOWN = 4
"""Points that are left to fit while a shape is held out."""
_BEYOND = 2.0
"""Times the most work that was measured; more is extrapolation, as is any other TP degree: how many
ranks share a machine's memory and power decides too."""
_MOST_FOLDS = 8
_NUM_REMEMBERED = 2000
"""Points whose work need not be added up again: the same are measured again and again."""
_ALIKE: tuple[Callable[[PointSpec], Hashable], ...] = (
    lambda one: one.model,
    lambda one: (one.model, one.tp_degree),
    lambda one: (one.model, one.tp_degree, one.batch),
    lambda one: one,
)
"""What is held out together, the first that leaves enough to fit."""
Times = Mapping[PointSpec, float]


@dataclass(frozen=True, slots=True)
class MeasuredSteps:
    """Rates of a device from the steps of other points, pointwise work shared out among them."""

    roofline: Roofline
    spread: float
    """Half width in log time that holds 90 % of the steps that were held out."""
    ratio_spread: float | None
    """The same of the ratio of two TP degrees at one point; None where no two were measured."""
    reach: float
    """Doublings of work by which what was held out lay beyond the rest, at least one."""
    most_flops: float
    degrees: frozenset[int]
    calibration: str

    def product_time(self, product: Product, *, point: PointSpec) -> Prediction:
        """A product's part of a step."""
        time_us = self.roofline.time_us(product, element_bytes=point.dtype.num_bytes)
        is_near = _whole_flops(point) <= _BEYOND * self.most_flops
        return within(
            time_us,
            self.spread * self._widening(point),
            basis=Basis.FITTED
            if is_near and point.tp_degree in self.degrees
            else Basis.EXTRAPOLATED,
            calibration=self.calibration,
        )

    def ratio_spread_of(self, point: PointSpec) -> float | None:
        """How well the ratio of this point's compute to that at another TP degree is known."""
        return None if self.ratio_spread is None else self.ratio_spread * self._widening(point)

    def _widening(self, point: PointSpec) -> float:
        """Errors in log time are taken to grow with the doublings beyond what was measured."""
        beyond = math.log2(_whole_flops(point) / self.most_flops)
        return max(1.0, beyond / self.reach)


def from_steps(steps: Sequence[tuple[PointSpec, float]], *, calibration: str) -> MeasuredSteps:
    """Fit compute-only times in us. ValueError for fewer than eight different points."""
    times = _merged(steps)
    if len(times) < FEWEST_STEPS:
        raise ValueError(
            f"{len(steps)} steps are no roofline; {FEWEST_STEPS} points are the fewest"
        )
    works = {spec: _work(spec) for spec in times}
    flops = {spec: _of_all_shards(spec, work) for spec, work in works.items()}

    def most(specs: Iterable[PointSpec]) -> float:
        return max(flops[one] for one in specs)

    errors: dict[PointSpec, float] = {}
    reach = 1.0
    for held in _held_out(times):
        known = times.keys() - held
        roofline = _fit({spec: times[spec] for spec in times if spec in known}, works)
        errors |= {one: math.log(roofline.total_us(works[one]) / times[one]) for one in held}
        reach = max(reach, math.log2(most(held) / most(known)))
    differences = list(_between_degrees(errors))
    return MeasuredSteps(
        roofline=_fit(times, works),
        spread=spread_of([abs(error) for error in errors.values()]),
        ratio_spread=spread_of(differences) if differences else None,
        reach=reach,
        most_flops=most(times),
        degrees=frozenset(spec.tp_degree for spec in times),
        calibration=calibration,
    )


def _merged(steps: Sequence[tuple[PointSpec, float]]) -> Times:
    """The median of several readings of a point, which are not held out one by one."""
    named: dict[PointSpec, list[float]] = {}
    for spec, time_us in steps:
        named.setdefault(spec, []).append(time_us)
    readings: dict[PointSpec, list[float]] = {}
    for spec, times_us in named.items():
        nameless = spec.model_copy(update={"model": spec.model.nameless})
        readings.setdefault(nameless, []).extend(times_us)
    return {spec: median(several) for spec, several in readings.items()}


def _held_out(times: Times) -> list[list[PointSpec]]:
    """Shape by shape, where most points can be told from other shapes.

    Else degree by degree, whose shards have other widths; else batch by batch; else point by point,
    as where they differ in their sequence alone.
    """
    found: list[list[PointSpec]] = []
    for same in _ALIKE:
        groups: dict[Hashable, list[PointSpec]] = {}
        for spec in times:
            groups.setdefault(same(spec), []).append(spec)
        found = [one for one in groups.values() if len(times) - len(one) >= _FEWEST_KNOWN]
        if 2 * sum(map(len, found)) >= len(times):
            break
    return _few(found)


def _few(groups: Sequence[list[PointSpec]]) -> list[list[PointSpec]]:
    """At most some folds: of many shapes several are held out together."""
    folds = (groups[number::_MOST_FOLDS] for number in range(_MOST_FOLDS))
    return [[spec for group in fold for spec in group] for fold in folds if fold]


def _between_degrees(errors: Mapping[PointSpec, float]) -> Iterator[float]:
    """By how much the errors at two TP degrees of one point differ."""
    alike: dict[PointSpec, list[float]] = {}
    for spec, error in errors.items():
        alike.setdefault(spec.model_copy(update={"tp_degree": 1}), []).append(error)
    for several in alike.values():
        for one, other in combinations(several, 2):
            yield abs(one - other)


def _fit(times: Times, works: Mapping[PointSpec, Work]) -> Roofline:
    return fit_roofline([works[spec] for spec in times], [*times.values()])


def _whole_flops(point: PointSpec) -> float:
    return _of_all_shards(point, _work(point))


def _of_all_shards(point: PointSpec, work: Work) -> float:
    return work.flops * point.num_shards


@lru_cache(_NUM_REMEMBERED)
def _work(point: PointSpec) -> Work:
    all_products = list(products(point))
    return Work(
        num_products=len(all_products),
        flops=sum(one.flops for one in all_products),
        moved_bytes=sum(one.num_elements for one in all_products) * point.dtype.num_bytes,
    )
