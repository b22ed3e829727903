"""Predictions of points, frozen before these ran."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Select, bindparam, insert, select
from sqlalchemy.orm import Session

from service.analysis.costmodel.prediction import Basis, Prediction
from service.store.clock import db_time
from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.prediction import PredictionRow
from service.store.models.sweep import SweepRow
from workers.contract.hardware import Hardware
from workers.contract.point import PointSpec


@dataclass(frozen=True, slots=True)
class Open:
    """Points of a sweep that nothing was predicted of."""

    hardware: Hardware
    """What the sweep is bound to."""
    known_until: datetime
    """When it was created: what was measured later must not be used."""
    points: tuple[tuple[str, PointSpec], ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What was predicted of a point's step."""

    prediction: Prediction
    known_until: datetime
    made_at: datetime


def find_open(session: Session, sweep_id: str) -> Open | None:
    """None for a sweep that is not bound, or has no blocks that are open."""
    bound = session.execute(
        select(HardwareRow.facts, SweepRow.created_at)
        .join(HardwareRow, HardwareRow.hardware_key == SweepRow.hardware_key)
        .where(SweepRow.id == sweep_id)
    ).one_or_none()
    if bound is None:
        return None
    rows = session.execute(
        select(PointRow.id, PointRow.spec)
        .outerjoin(PredictionRow, PredictionRow.point_id == PointRow.id)
        .where(
            PointRow.sweep_id == sweep_id,
            PointRow.is_rejected.is_(False),
            PredictionRow.point_id.is_(None),
        )
    )
    points = tuple((row.id, row.spec) for row in rows if isinstance(row.spec, PointSpec))
    return Open(bound.facts, bound.created_at, points) if points else None


def freeze(session: Session, found: Open, predictions: Sequence[tuple[str, Prediction]]) -> None:
    """Store predictions of open points, by id."""
    if not predictions:
        return
    now = db_time(session)
    rows = [
        {
            "point_id": point_id,
            "hardware_key": found.hardware.hardware_key,
            "basis": one.basis.value,
            "time_us": one.time_us,
            "low_us": one.low_us,
            "high_us": one.high_us,
            "calibration": one.calibration,
            "known_until": found.known_until,
            "made_at": now,
        }
        for point_id, one in predictions
    ]
    session.connection().execute(insert(PredictionRow), rows)


def find_all(session: Session, point_ids: Sequence[str]) -> dict[str, Forecast]:
    """Of those points that there is one of."""
    rows = session.connection().execute(_forecasts(), {"point_ids": point_ids})
    return {
        row.point_id: Forecast(
            Prediction(row.time_us, row.low_us, row.high_us, Basis(row.basis), row.calibration),
            known_until=row.known_until,
            made_at=row.made_at,
        )
        for row in rows
    }


@cache
def _forecasts() -> Select[*tuple[object, ...]]:
    wanted = PredictionRow.point_id.in_(bindparam("point_ids", expanding=True))
    return select(*PredictionRow.__table__.columns).where(wanted)
