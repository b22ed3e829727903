"""From rows to the cost model: what was measured on a hardware, by us or by nccl-tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlalchemy.orm import Session

from service.analysis.costmodel.accelerators import Accelerator, find_accelerator
from service.analysis.costmodel.collectives import CollectiveCurve, CollectiveModel
from service.analysis.costmodel.curve import FEWEST_POINTS, TimeCurve
from service.analysis.costmodel.gemm import FEWEST_PRODUCTS, GemmModel, Product, merged
from service.analysis.costmodel.measured_steps import FEWEST_STEPS, MeasuredSteps, from_steps
from service.reports import measured_curves
from service.store import curves, probes
from service.store.curves import Curve, Origin
from service.store.probes import MeasuredProbe
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from workers.contract.axes import Collective, CollectiveImpl
from workers.contract.point import PointSpec
from workers.contract.probe import GemmProbe


@dataclass(frozen=True)
class Stored:
    """What is stored of one hardware: each part is read once, for as many points as ask for it."""

    session: Session
    hardware: str
    _trials: dict[ResultFilter, list[MeasuredTrial]] = field(default_factory=dict)

    @cached_property
    def probes(self) -> tuple[MeasuredProbe, ...]:
        """What calibrations measured on it."""
        return tuple(probes.newest(self.session, ResultFilter.on(self.hardware)))

    @cached_property
    def measured_curves(self) -> tuple[Curve, ...]:
        """The curves among them."""
        return tuple(measured_curves.of_probes(self.probes))

    @cached_property
    def imported(self) -> tuple[Curve, ...]:
        """Curves brought in under its name."""
        return tuple(curves.list_all(self.session, hardware=self.hardware))

    def trials(self, which: ResultFilter) -> list[MeasuredTrial]:
        """Those measured on it that match."""
        own = ResultFilter.on(self.hardware)
        which = replace(which, hardware_keys=own.hardware_keys, accelerators=own.accelerators)
        if which not in self._trials:
            self._trials[which] = measured(self.session, which)
        return self._trials[which]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known of one hardware."""

    collectives: CollectiveModel
    measured: tuple[Curve, ...]
    """Curves of calibrations, of the point's implementation."""
    imported: tuple[Curve, ...]
    accelerator: Accelerator | None
    steps: MeasuredSteps | None
    """None where too few points of this kind were measured."""
    products: GemmModel | None
    """None where no calibration measured this number of ranks and element type."""

    @property
    def curves(self) -> tuple[Curve, ...]:
        """All that its collectives may rest on."""
        return (*self.measured, *self.imported)


def calibrated(stored: Stored, point: PointSpec) -> Calibration:
    """What was measured or brought in that bears on the point, and the catalogue's entry."""
    impl = point.collective_impl
    which = ResultFilter(tp_degrees=(point.tp_degree,), collective_impls=(impl,))
    imported = stored.imported if impl is CollectiveImpl.BACKEND else ()
    measured = tuple(one for one in stored.measured_curves if one.collective_impl is impl)
    accelerator = find_accelerator(stored.hardware)
    for curve in stored.imported:
        accelerator = accelerator or find_accelerator(curve.table.accelerator)
    found = [
        *_from_curves(measured, preference=0),
        *_from_trials(stored.trials(which)),
        *_from_curves(imported, preference=2),
    ]
    link = None if accelerator is None else accelerator.link
    return Calibration(
        collectives=CollectiveModel(found, link),
        measured=measured,
        imported=imported,
        accelerator=accelerator,
        steps=_steps(stored, point),
        products=_products(stored, point),
    )


def series_of(stored: Stored, point: PointSpec) -> list[MeasuredTrial]:
    """Trials of the same point at any batch."""
    which = ResultFilter(
        blocks=(point.block,),
        phases=(point.phase,),
        arrangements=(point.arrangement,),
        tp_degrees=(point.tp_degree,),
        seqs=(point.seq,),
        dtypes=(point.dtype,),
        collective_impls=(point.collective_impl,),
        overlaps=(point.overlap,),
    )
    shape = point.model.nameless
    return [one for one in stored.trials(which) if one.spec.model.nameless == shape]


def _steps(stored: Stored, point: PointSpec) -> MeasuredSteps | None:
    """Compute-only steps of the same block, phase and dtype, of any model and degree."""
    which = ResultFilter(blocks=(point.block,), phases=(point.phase,), dtypes=(point.dtype,))
    steps = [(one.spec, one.summary.compute_time_us) for one in stored.trials(which)]
    if len({spec.spec_key for spec, _ in steps}) < FEWEST_STEPS:
        return None
    origin = f"{len(steps)} trials of {point.block} {point.phase} on {stored.hardware}"
    return from_steps(steps, calibration=origin)


def _products(stored: Stored, point: PointSpec) -> GemmModel | None:
    """Products that a calibration measured while as many ranks worked."""
    found = [
        (Product(one.spec.m, one.spec.n, one.spec.k), one.time_us)
        for one in stored.probes
        if isinstance(one.spec, GemmProbe)
        and (one.spec.dtype, one.spec.tp_degree) == (point.dtype, point.tp_degree)
    ]
    times = merged(found)
    if len(times) < FEWEST_PRODUCTS:
        return None
    origin = f"{len(times)} products of a calibration of {stored.hardware}"
    return GemmModel(times, element_bytes=point.dtype.num_bytes, calibration=origin)


def _from_trials(trials: Iterable[MeasuredTrial]) -> list[CollectiveCurve]:
    points: dict[tuple[Collective, int], list[tuple[float, float]]] = {}
    for trial in trials:
        for one in trial.summary.collectives:
            key = (one.op, trial.spec.tp_degree)
            if one.time_us > 0:
                points.setdefault(key, []).append((float(one.message_bytes), one.time_us))
    return _curves(points, "collectives inside measured points", preference=1)


def _from_curves(several: Sequence[Curve], *, preference: int) -> list[CollectiveCurve]:
    """As torch calls them: an all-reduce works in place, the others do not."""
    found = []
    for curve in several:
        table = curve.table
        if table.operation.value not in {one.value for one in Collective}:
            continue
        op = Collective(table.operation)
        points = [
            (float(row.message_bytes), time)
            for row in table.rows
            if (time := row.in_place_us if op is Collective.ALL_REDUCE else row.out_of_place_us)
        ]
        by = "nccl-tests" if curve.origin is Origin.IMPORTED else "calibration"
        origin = f"{by}, {curve.source or curve.id}"
        found += _curves({(op, table.num_ranks): points}, origin, preference=preference)
    return found


def _curves(
    points: dict[tuple[Collective, int], list[tuple[float, float]]],
    origin: str,
    *,
    preference: int,
) -> list[CollectiveCurve]:
    return [
        CollectiveCurve(op, num_ranks, TimeCurve.of(several, calibration=origin), preference)
        for (op, num_ranks), several in points.items()
        if len({size for size, _ in several}) >= FEWEST_POINTS
    ]
