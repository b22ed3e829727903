"""From rows to the cost model: what was measured on a hardware, by us or by nccl-tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from service.analysis.costmodel.accelerators import Accelerator, find_accelerator
from service.analysis.costmodel.collectives import CollectiveCurve, CollectiveModel
from service.analysis.costmodel.curve import FEWEST_POINTS, TimeCurve
from service.analysis.costmodel.measured_steps import FEWEST_STEPS, MeasuredSteps, from_steps
from service.store import curves
from service.store.curves import Curve
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from workers.contract.axes import Collective
from workers.contract.point import PointSpec


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is known of one hardware."""

    collectives: CollectiveModel
    imported: tuple[Curve, ...]
    accelerator: Accelerator | None
    steps: MeasuredSteps | None
    """None where too few points of this kind were measured."""


def of_hardware(session: Session, hardware: str, point: PointSpec) -> Calibration:
    """What was measured on it or brought in under its name, and the catalogue's entry."""
    imported = tuple(curves.list_all(session, hardware=hardware))
    trials = measured(session, replace(ResultFilter.on(hardware), tp_degrees=(point.tp_degree,)))
    accelerator = find_accelerator(hardware)
    for curve in imported:
        accelerator = accelerator or find_accelerator(curve.table.accelerator)
    found = [*_from_trials(trials), *_from_files(imported)]
    link = None if accelerator is None else accelerator.link
    return Calibration(
        CollectiveModel(found, link), imported, accelerator, _steps(session, hardware, point)
    )


def series_of(session: Session, hardware: str, point: PointSpec) -> list[MeasuredTrial]:
    """Trials of the same point at any batch."""
    which = replace(
        ResultFilter.on(hardware),
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
    return [one for one in measured(session, which) if one.spec.model.nameless == shape]


def _steps(session: Session, hardware: str, point: PointSpec) -> MeasuredSteps | None:
    """Compute-only steps of the same block, phase and dtype, of any model and degree."""
    which = replace(
        ResultFilter.on(hardware),
        blocks=(point.block,),
        phases=(point.phase,),
        dtypes=(point.dtype,),
    )
    steps = [(one.spec, one.summary.compute_time_us) for one in measured(session, which)]
    if len({spec.spec_key for spec, _ in steps}) < FEWEST_STEPS:
        return None
    origin = f"{len(steps)} trials of {point.block} {point.phase} on {hardware}"
    return from_steps(steps, calibration=origin)


def _from_trials(trials: Iterable[MeasuredTrial]) -> list[CollectiveCurve]:
    points: dict[tuple[Collective, int], list[tuple[float, float]]] = {}
    for trial in trials:
        for one in trial.summary.collectives:
            key = (one.op, trial.spec.tp_degree)
            if one.time_us > 0:
                points.setdefault(key, []).append((float(one.message_bytes), one.time_us))
    return _curves(points, "collectives inside measured points")


def _from_files(imported: Sequence[Curve]) -> list[CollectiveCurve]:
    """As torch calls them: an all-reduce works in place, the others do not."""
    found = []
    for curve in imported:
        table = curve.table
        if table.operation.value not in {one.value for one in Collective}:
            continue
        op = Collective(table.operation)
        points = [
            (float(row.message_bytes), time)
            for row in table.rows
            if (time := row.in_place_us if op is Collective.ALL_REDUCE else row.out_of_place_us)
        ]
        origin = f"nccl-tests, {curve.source or curve.id}"
        found += _curves({(op, table.num_ranks): points}, origin)
    return found


def _curves(
    points: dict[tuple[Collective, int], list[tuple[float, float]]], origin: str
) -> list[CollectiveCurve]:
    return [
        CollectiveCurve(op, num_ranks, TimeCurve.of(several, calibration=origin))
        for (op, num_ranks), several in points.items()
        if len({size for size, _ in several}) >= FEWEST_POINTS
    ]
