"""Baselines: sweeps pinned under names, and which earlier sweeps measured the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, distinct, func, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.errors import ConflictError, NotFoundError
from service.store import sweeps
from service.store.clock import db_now, db_time
from service.store.models.baseline import BaselineRow
from service.store.models.point import PointRow
from service.store.models.schedule import ScheduleRow
from service.store.models.sweep import SweepRow


@dataclass(frozen=True, slots=True)
class Baseline:
    """A sweep pinned under a name."""

    name: str
    sweep_id: str
    note: str
    pinned_at: datetime
    pinned_by: str
    expires_at: datetime | None
    is_expired: bool


def pin(
    session: Session,
    name: str,
    sweep_id: str,
    *,
    note: str = "",
    pinned_by: str,
    expires_at: datetime | None = None,
) -> Baseline:
    """Give a sweep a name. NotFoundError without the sweep, ConflictError for a taken name."""
    sweeps.check_known(session, sweep_id)
    values = {
        "name": name,
        "sweep_id": sweep_id,
        "note": note,
        "pinned_at": db_now(session),
        "pinned_by": pinned_by,
        "expires_at": expires_at,
    }
    try:
        with session.begin_nested():
            session.execute(insert(BaselineRow).values(values))
    except IntegrityError:
        raise _taken(name) from None
    return find(session, name)


def move(session: Session, name: str, sweep_id: str, *, pinned_by: str) -> Baseline:
    """Let a name stand for another sweep from now on."""
    find(session, name)
    sweeps.check_known(session, sweep_id)
    moved: dict[str, object] = {
        "sweep_id": sweep_id,
        "pinned_at": db_now(session),
        "pinned_by": pinned_by,
    }
    _change(session, name, moved)
    return find(session, name)


def rename(session: Session, name: str, new: str) -> Baseline:
    """Call it something else, also in the schedules that are held against it."""
    find(session, name)
    try:
        with session.begin_nested():
            _change(session, name, {"name": new})
    except IntegrityError:
        raise _taken(new) from None
    session.execute(
        update(ScheduleRow).where(ScheduleRow.baseline == name).values(baseline=new),
        execution_options={"synchronize_session": False},
    )
    return find(session, new)


def annotate(session: Session, name: str, note: str) -> Baseline:
    """Say something else about it."""
    find(session, name)
    _change(session, name, {"note": note})
    return find(session, name)


def expire(session: Session, name: str, at: datetime | None) -> Baseline:
    """Let it stand until then, None for good."""
    find(session, name)
    _change(session, name, {"expires_at": at})
    return find(session, name)


def remove(session: Session, name: str) -> None:
    """Forget a name; its sweep stays. ConflictError while a schedule is held against it."""
    find(session, name)
    held = session.scalar(select(ScheduleRow.name).where(ScheduleRow.baseline == name).limit(1))
    if held is not None:
        raise ConflictError(f"schedule {held!r} is held against {name!r}; change that first")
    session.execute(
        delete(BaselineRow).where(BaselineRow.name == name),
        execution_options={"synchronize_session": False},
    )


def find(session: Session, name: str) -> Baseline:
    """NotFoundError, with the names there are, if there is none."""
    row = session.scalar(
        select(BaselineRow).where(BaselineRow.name == name),
        execution_options={"populate_existing": True},
    )
    if row is None:
        known = session.scalars(select(BaselineRow.name).order_by(BaselineRow.name).limit(10)).all()
        raise NotFoundError(
            f"there is no baseline {name!r}; there are: {', '.join(known) or 'none yet'}"
        )
    return _baseline(row, now=db_time(session))


def list_all(session: Session) -> list[Baseline]:
    """By name, expired ones too."""
    now = db_time(session)
    rows = session.scalars(select(BaselineRow).order_by(BaselineRow.name))
    return [_baseline(row, now=now) for row in rows]


def resolve(session: Session, text: str) -> str:
    """Return the id of the sweep that an id or a baseline's name stands for."""
    if session.scalar(select(SweepRow.id).where(SweepRow.id == text)) is not None:
        return text
    if session.scalar(select(BaselineRow.name).where(BaselineRow.name == text)) is None:
        raise NotFoundError(f"there is no sweep and no baseline {text!r}")
    return sweep_of(session, text)


def sweep_of(session: Session, name: str) -> str:
    """Return the id of the sweep that a baseline stands for. ConflictError once it has expired."""
    baseline = find(session, name)
    if baseline.is_expired:
        raise ConflictError(
            f"baseline {name!r} expired at {baseline.expires_at:%Y-%m-%d %H:%M} UTC; pin it anew "
            f"or name its sweep {baseline.sweep_id}"
        )
    return baseline.sweep_id


def earlier_alike(session: Session, sweep_id: str, *, limit: int) -> list[str]:
    """Ids of sweeps that measured every point of this one before it, newest first."""
    own = _spec_keys(sweep_id)
    count = own.with_only_columns(func.count(distinct(PointRow.spec_key)))
    this = select(SweepRow.created_at, SweepRow.id).where(SweepRow.id == sweep_id)
    chosen = (
        select(SweepRow.id)
        .join(PointRow, PointRow.sweep_id == SweepRow.id)
        .where(
            PointRow.spec_key.in_(own),
            PointRow.is_rejected.is_(False),
            tuple_(SweepRow.created_at, SweepRow.id) < this.scalar_subquery(),
        )
        .group_by(SweepRow.id, SweepRow.created_at)
        .having(func.count(distinct(PointRow.spec_key)) == count.scalar_subquery())
        .order_by(SweepRow.created_at.desc(), SweepRow.id.desc())
        .limit(limit)
    )
    return list(session.scalars(chosen))


def spec_keys(session: Session, sweep_id: str) -> frozenset[str]:
    """Of the points that a sweep measures."""
    return frozenset(session.scalars(_spec_keys(sweep_id)))


def names_of(session: Session, sweep_ids: Sequence[str]) -> dict[str, str]:
    """Baselines that stand for these sweeps and have not expired: name by sweep id."""
    return {
        one.sweep_id: one.name
        for one in list_all(session)
        if one.sweep_id in sweep_ids and not one.is_expired
    }


def _spec_keys(sweep_id: str) -> Select[str]:
    return select(PointRow.spec_key).where(
        PointRow.sweep_id == sweep_id, PointRow.is_rejected.is_(False)
    )


def _change(session: Session, name: str, values: dict[str, object]) -> None:
    session.execute(
        update(BaselineRow).where(BaselineRow.name == name).values(values),
        execution_options={"synchronize_session": False},
    )


def _taken(name: str) -> ConflictError:
    return ConflictError(f"there is a baseline {name!r}; take another name or move that one")


def _baseline(row: BaselineRow, *, now: datetime) -> Baseline:
    return Baseline(
        name=row.name,
        sweep_id=row.sweep_id,
        note=row.note,
        pinned_at=row.pinned_at,
        pinned_by=row.pinned_by,
        expires_at=row.expires_at,
        is_expired=row.expires_at is not None and row.expires_at <= now,
    )
