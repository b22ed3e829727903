"""From rows to the cost model: what was measured on a hardware, by us or by nccl-tests."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from sqlalchemy.orm import Session

from service.analysis.costmodel.accelerators import Accelerator, find_accelerator
from service.analysis.costmodel.collectives import CollectiveModel
from service.analysis.costmodel.curve import FEWEST_POINTS
from service.analysis.costmodel.gemm import (
    FEWEST_PRODUCTS,
    GemmModel,
    Product,
    largest_copy,
    merged,
)
from service.analysis.costmodel.measured_steps import FEWEST_STEPS, MeasuredSteps, from_steps
from service.reports import measured_curves
from service.reports.collective_curves import from_curves, from_trials
from service.reports.measured_series import Series
from service.store import curves, probes
from service.store.cases import num_measured
from service.store.curves import Curve
from service.store.probes import MeasuredProbe
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from service.store.timed import TimedTrial, timed
from workers.contract.axes import Block, CollectiveImpl, Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.probe import CopyProbe, GemmProbe
from workers.contract.shapes import ModelShape

MOST_TRIALS = 250
"""Of one selection that are read, the newest: more would take seconds, and say little."""

OVERSUBSCRIBED = "oversubscribed"
"""More ranks than cores: such times hold the scheduler's as well, and no fit is made of them."""

Kind = tuple[int, CollectiveImpl, Block, Phase, Dtype]
"""Points that one calibration serves."""


@dataclass(frozen=True)
class Stored:
    """What is stored of one hardware: each part is read once, for as many points as ask for it."""

    session: Session
    hardware: str
    hardware_key: str | None = None
    """Where it is one machine's kind that is meant, and not all of its name."""
    until: datetime | None = None
    """Only what had been measured by then."""
    _trials: dict[ResultFilter, list[TimedTrial]] = field(default_factory=dict)
    _detailed: dict[ResultFilter, list[MeasuredTrial]] = field(default_factory=dict)
    _counts: dict[ResultFilter, tuple[int, int]] = field(default_factory=dict)
    series: dict[tuple[ModelShape, ResultFilter], Series | None] = field(default_factory=dict)
    steps: dict[ResultFilter, MeasuredSteps | None] = field(default_factory=dict)
    calibrations: dict[Kind, "Calibration"] = field(default_factory=dict)

    @cached_property
    def probes(self) -> tuple[MeasuredProbe, ...]:
        """What calibrations measured on it."""
        return tuple(probes.newest(self.session, self._own))

    @cached_property
    def measured_curves(self) -> tuple[Curve, ...]:
        """The curves among them."""
        return tuple(measured_curves.of_probes(self.probes))

    @cached_property
    def imported(self) -> tuple[Curve, ...]:
        """Curves brought in under its name."""
        found = curves.list_all(self.session, hardware=self.hardware)
        return tuple(one for one in found if self.until is None or one.imported_at < self.until)

    @cached_property
    def _own(self) -> ResultFilter:
        known = ResultFilter.on(self.hardware_key or self.hardware)
        return replace(known, until=self.until)

    def trials(self, which: ResultFilter) -> list[TimedTrial]:
        """Those measured on it that match."""
        which = self._on_it(which)
        if which not in self._trials:
            self._trials[which] = timed(self.session, which, newest=MOST_TRIALS)
        return self._trials[which]

    def detailed(self, which: ResultFilter) -> list[MeasuredTrial]:
        """The same with all that was measured."""
        which = self._on_it(which)
        if which not in self._detailed:
            self._detailed[which] = measured(self.session, which, newest=MOST_TRIALS)
        return self._detailed[which]

    def can_tell(self, point: PointSpec) -> bool:
        """Whether there is anything to predict a point from, for little."""
        if self.probes or self.imported or find_accelerator(self.hardware):
            return True
        _, num_batches = self._counted(_same_but_batch(point))
        num_points, _ = self._counted(_same_kind(point))
        return num_batches >= FEWEST_POINTS or num_points >= FEWEST_STEPS

    def _counted(self, which: ResultFilter) -> tuple[int, int]:
        which = self._on_it(which)
        if which not in self._counts:
            self._counts[which] = num_measured(self.session, which)
        return self._counts[which]

    def _on_it(self, which: ResultFilter) -> ResultFilter:
        own = self._own
        return replace(
            which,
            hardware_keys=own.hardware_keys,
            accelerators=own.accelerators,
            until=self.until,
        )


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
    kind = (point.tp_degree, point.collective_impl, point.block, point.phase, point.dtype)
    if kind not in stored.calibrations:
        stored.calibrations[kind] = _calibrated(stored, point)
    return stored.calibrations[kind]


def _calibrated(stored: Stored, point: PointSpec) -> Calibration:
    impl = point.collective_impl
    which = ResultFilter(tp_degrees=(point.tp_degree,), collective_impls=(impl,))
    trials = [one for one in stored.detailed(which) if OVERSUBSCRIBED not in one.quality]
    imported = stored.imported if impl is CollectiveImpl.BACKEND else ()
    measured = tuple(one for one in stored.measured_curves if one.collective_impl is impl)
    accelerator = find_accelerator(stored.hardware)
    for curve in stored.imported:
        accelerator = accelerator or find_accelerator(curve.table.accelerator)
    found = [
        *from_curves(measured, preference=0),
        *from_trials(trials),
        *from_curves(imported, preference=2),
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


def series_of(stored: Stored, point: PointSpec) -> Series | None:
    """Trials of the same point at any batch; None where these are too few."""
    shape, which = point.model.nameless, _same_but_batch(point)
    if (shape, which) not in stored.series:
        known = stored.trials(which)
        same = {one for one in {trial.spec.model for trial in known} if one.nameless == shape}
        trials = [one for one in known if one.spec.model in same]
        batches = sorted({one.spec.batch for one in trials})
        found = Series.of(trials, batches) if len(batches) >= FEWEST_POINTS else None
        stored.series[shape, which] = found
    return stored.series[shape, which]


def _same_but_batch(point: PointSpec) -> ResultFilter:
    """Points of any batch, and of any model."""
    return ResultFilter(
        blocks=(point.block,),
        phases=(point.phase,),
        arrangements=(point.arrangement,),
        tp_degrees=(point.tp_degree,),
        seqs=(point.seq,),
        dtypes=(point.dtype,),
        collective_impls=(point.collective_impl,),
        overlaps=(point.overlap,),
        launches=(point.launch,),
    )


def _same_kind(point: PointSpec) -> ResultFilter:
    return ResultFilter(blocks=(point.block,), phases=(point.phase,), dtypes=(point.dtype,))


def _steps(stored: Stored, point: PointSpec) -> MeasuredSteps | None:
    """Compute-only steps of the same block, phase and dtype, of any model and degree.

    A stack of layers is left out: its step holds the work of as many as there are ranks.
    """
    which = _same_kind(point)
    if which not in stored.steps:
        same = [
            one
            for one in stored.trials(which)
            if one.spec.num_layers == 1 and OVERSUBSCRIBED not in one.quality
        ]
        different = {one.spec_key: one.spec for one in same}
        found = None
        if len({spec.spec_key for spec in different.values()}) >= FEWEST_STEPS:
            origin = f"{len(same)} trials of {point.block} {point.phase} on {stored.hardware}"
            found = from_steps(
                [(one.spec, one.compute_time_us) for one in same], calibration=origin
            )
        stored.steps[which] = found
    return stored.steps[which]


def _products(stored: Stored, point: PointSpec) -> GemmModel | None:
    """Products that a calibration measured while as many ranks worked."""
    own = [
        (one.spec, one.time_us)
        for one in stored.probes
        if (one.spec.dtype, one.spec.tp_degree) == (point.dtype, point.tp_degree)
    ]
    times = merged([(Product(at.m, at.n, at.k), us) for at, us in own if isinstance(at, GemmProbe)])
    copy = largest_copy([(at.moved_bytes, us) for at, us in own if isinstance(at, CopyProbe)])
    if len(times) < FEWEST_PRODUCTS:
        return None
    origin = f"{len(times)} products{' and a copy' if copy else ''} of a calibration of "
    origin += stored.hardware
    return GemmModel(times, element_bytes=point.dtype.num_bytes, calibration=origin, copy=copy)
