"""Schedules and their decisions: kept, found, paused. `firing` is what starts their sweeps."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.analysis.schedules.decide import CLOCK_SLACK, Action, Pause, Policies
from service.analysis.schedules.spec import ScheduleSpec
from service.analysis.schedules.timetable import Timetable, offset_of
from service.errors import ConflictError, InvalidCursorError
from service.store.clock import db_now, db_time
from service.store.ids import new_id
from service.store.models.schedule import ScheduleComparisonRow, ScheduleDecisionRow, ScheduleRow
from service.store.names import find_row
from service.store.pages import Page, cut, decode_cursor


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as its row tells it."""

    id: str
    spec: ScheduleSpec
    timetable: Timetable
    created_at: datetime
    created_by: str
    decided_until: datetime
    next_start_at: datetime | None
    pause: Pause | None
    """The last one, which may be over."""

    @property
    def policies(self) -> Policies:
        """How it wants to be treated."""
        spec = self.spec
        return Policies(spec.catch_up, spec.most_catch_ups, spec.overlap)


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as its row tells it."""

    schedule_id: str
    scheduled_for: datetime
    decided_at: datetime
    action: Action
    reason: str
    sweep_id: str | None


def create(session: Session, spec: ScheduleSpec, *, created_by: str) -> Schedule:
    """Keep a schedule; it names times from now on. ConflictError where the name is taken."""
    schedule_id, now = new_id(), db_time(session)
    kept = {"id": schedule_id, "created_at": now, "created_by": created_by, "pause_reason": ""}
    try:
        with session.begin_nested():
            session.execute(
                insert(ScheduleRow).values({**kept, **_asked(schedule_id, spec, now=now)})
            )
    except IntegrityError:
        raise _taken(spec.name) from None
    return find(session, schedule_id)


def replace(session: Session, name: str, spec: ScheduleSpec) -> Schedule:
    """Change what a schedule is asked; it names times anew from now on."""
    schedule = find(session, name)
    try:
        with session.begin_nested():
            _change(session, schedule.id, _asked(schedule.id, spec, now=db_time(session)))
    except IntegrityError:
        raise _taken(spec.name) from None
    return find(session, schedule.id)


def find(session: Session, name: str, *, lock: bool = False) -> Schedule:
    """By id or name. NotFoundError if there is none."""
    return _schedule(find_row(session, ScheduleRow, name, noun="schedule", lock=lock))


def list_all(session: Session) -> list[Schedule]:
    """By name."""
    return [
        _schedule(row) for row in session.scalars(select(ScheduleRow).order_by(ScheduleRow.name))
    ]


def due(session: Session) -> list[str]:
    """Ids of those that have something to decide; a reading session is enough."""
    went_back = ScheduleRow.decided_until > db_now(session, plus=CLOCK_SLACK)
    chosen = select(ScheduleRow.id).where(
        or_(ScheduleRow.next_start_at <= db_now(session), went_back)
    )
    return list(session.scalars(chosen.order_by(ScheduleRow.id)))


def take(session: Session, schedule_id: str) -> Schedule | None:
    """Lock one to decide on it; None where another does, or it was deleted."""
    chosen = select(ScheduleRow).where(ScheduleRow.id == schedule_id)
    row = session.scalar(chosen.with_for_update(skip_locked=True))
    return None if row is None else _schedule(row)


def decided(
    session: Session, schedule_id: str, *, until: datetime, next_start_at: datetime | None
) -> None:
    """Note how far a locked schedule's times have their decisions."""
    _change(session, schedule_id, {"decided_until": until, "next_start_at": next_start_at})


def pause(session: Session, schedule_id: str, *, reason: str, until: datetime | None) -> Schedule:
    """Start nothing from now on, until then or until it is resumed."""
    _change(
        session,
        schedule_id,
        {"paused_at": db_now(session), "paused_until": until, "pause_reason": reason},
    )
    return find(session, schedule_id)


def resume(session: Session, schedule_id: str) -> Schedule:
    """End a pause."""
    _change(session, schedule_id, {"paused_at": None, "paused_until": None, "pause_reason": ""})
    return find(session, schedule_id)


def remove(session: Session, name: str) -> None:
    """Forget a schedule and its decisions; sweeps it started stay."""
    schedule = find(session, name, lock=True)
    for table, column in (
        (ScheduleComparisonRow, ScheduleComparisonRow.schedule_id),
        (ScheduleDecisionRow, ScheduleDecisionRow.schedule_id),
        (ScheduleRow, ScheduleRow.id),
    ):
        session.execute(
            delete(table).where(column == schedule.id),
            execution_options={"synchronize_session": False},
        )


def decisions(
    session: Session, schedule_id: str, *, limit: int, cursor: str | None = None
) -> Page[Decided]:
    """Newest time first."""
    filters = ("decisions", schedule_id)
    chosen = (
        select(ScheduleDecisionRow)
        .where(ScheduleDecisionRow.schedule_id == schedule_id)
        .order_by(ScheduleDecisionRow.scheduled_for.desc())
    )
    if cursor is not None:
        (last,) = decode_cursor(cursor, filters=filters, types=(str,))
        chosen = chosen.where(ScheduleDecisionRow.scheduled_for < _moment(str(last)))
    found = [_decided(row) for row in session.scalars(chosen.limit(limit + 1))]
    return cut(
        found, limit=limit, key=lambda one: (one.scheduled_for.isoformat(),), filters=filters
    )


def _asked(schedule_id: str, spec: ScheduleSpec, *, now: datetime) -> dict[str, object]:
    offset = offset_of(schedule_id, jitter_s=spec.jitter_s)
    next_start_at = Timetable(spec.cron, spec.zone, offset).next_start(after=now)
    return {**dict(spec), "decided_until": now, "next_start_at": next_start_at}


def _change(session: Session, schedule_id: str, values: dict[str, object]) -> None:
    session.execute(
        update(ScheduleRow).where(ScheduleRow.id == schedule_id).values(values),
        execution_options={"synchronize_session": False},
    )


def _taken(name: str) -> ConflictError:
    return ConflictError(f"there is a schedule {name!r}; take another name or change that one")


def _schedule(row: ScheduleRow) -> Schedule:
    # Not validated again: a zone that a newer database dropped must not hide the schedule.
    spec = ScheduleSpec.model_construct(
        **{name: getattr(row, name) for name in ScheduleSpec.model_fields}
    )
    pause = None
    if row.paused_at is not None:
        pause = Pause(row.paused_at, row.paused_until, row.pause_reason)
    return Schedule(
        id=row.id,
        spec=spec,
        timetable=Timetable(row.cron, row.zone, offset_of(row.id, jitter_s=row.jitter_s)),
        created_at=row.created_at,
        created_by=row.created_by,
        decided_until=row.decided_until,
        next_start_at=row.next_start_at,
        pause=pause,
    )


def _decided(row: ScheduleDecisionRow) -> Decided:
    return Decided(
        schedule_id=row.schedule_id,
        scheduled_for=row.scheduled_for,
        decided_at=row.decided_at,
        action=row.action,
        reason=row.reason,
        sweep_id=row.sweep_id,
    )


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidCursorError("the cursor cannot be read; begin without one") from None
