"""What calibrations measured: results of probes, read without all that a block's result has."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Row, Select, select, text
from sqlalchemy.orm import Session

from service.analysis.summary import TrialSummary
from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepRow
from service.store.result_filter import ResultFilter, about_results
from workers.contract.axes import Kind
from workers.contract.hardware import Hardware
from workers.contract.probe import Probe

_OF_PROBES = text("points.kind <> 'block'")
"""As the partial index has it."""
_TRIALS = (
    select(
        PointRow.spec,
        PointRow.spec_key,
        PointRow.sweep_id,
        SweepRow.created_by,
        HardwareRow.facts,
        ResultRow.hardware_key,
        ResultRow.link_class,
        ResultRow.summary,
        ResultRow.created_at,
    )
    .join(PointRow, PointRow.id == ResultRow.point_id)
    .join(SweepRow, SweepRow.id == PointRow.sweep_id)
    .join(HardwareRow, HardwareRow.hardware_key == ResultRow.hardware_key)
    .where(ResultRow.point_id.in_(select(PointRow.id).where(_OF_PROBES)))
)
"""From the few probes to their results: SQLite would look at every result there is."""


@dataclass(frozen=True, slots=True)
class MeasuredProbe:
    """What one trial measured of a probe."""

    spec: Probe
    sweep_id: str
    created_by: str
    hardware: Hardware
    hardware_key: str
    link_class: str
    time_us: float
    """Of a collective its wire, of a product its step: slowest rank, median over steps."""
    measured_at: datetime


def newest(session: Session, which: ResultFilter) -> list[MeasuredProbe]:
    """Of each probe on each hardware, the trials of the last sweep that measured it.

    By what they measure. Of `which` only what a result itself tells is asked.
    """
    rows = session.connection().execute(_newest(which.asked), which.parameters)
    found: dict[tuple[str, str], list[MeasuredProbe]] = {}
    for row in rows:
        same = found.setdefault((row.spec_key, row.hardware_key), [])
        if not same or same[0].sweep_id == row.sweep_id:
            same.append(_measured(row))
    return [trial for trials in found.values() for trial in trials]


def of_sweep(session: Session, sweep_id: str) -> list[MeasuredProbe]:
    """What one calibration has measured so far, in the order of its probes."""
    chosen = _TRIALS.where(PointRow.sweep_id == sweep_id).order_by(
        PointRow.position, ResultRow.replicate
    )
    return [_measured(row) for row in session.connection().execute(chosen)]


def _measured(row: Row[*tuple[object, ...]]) -> MeasuredProbe:
    return MeasuredProbe(
        spec=row.spec,
        sweep_id=row.sweep_id,
        created_by=row.created_by,
        hardware=row.facts,
        hardware_key=row.hardware_key,
        link_class=row.link_class,
        time_us=_time_us(row.spec, row.summary),
        measured_at=row.created_at,
    )


def _time_us(spec: Probe, summary: TrialSummary) -> float:
    return summary.wire_us if spec.kind is Kind.COLLECTIVE else summary.step_time_us


@lru_cache
def _newest(asked: frozenset[str]) -> Select[*tuple[object, ...]]:
    return _TRIALS.where(*about_results(asked)).order_by(
        PointRow.sweep_id.desc(), PointRow.position, ResultRow.replicate
    )
