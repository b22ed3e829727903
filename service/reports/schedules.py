"""Schedules as they are shown: what they will do next, and what they did and why."""

import itertools
from datetime import datetime, timedelta
from typing import Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.schedules.decide import Action, Pause
from service.analysis.schedules.spec import CatchUp, Overlap
from service.reports.held_nights import HeldReport
from service.store import held_nights
from service.store import schedules as stored
from service.store.clock import db_time
from service.store.held_nights import HeldNight
from service.store.pages import Page
from service.store.schedules import Decided, Schedule
from workers.contract.frozen import Frozen
from workers.contract.sweep import SweepSpec

NUM_NEXT = 5
RESOLUTION = timedelta(microseconds=1)


class PauseReport(Frozen):
    """Why nothing is started."""

    since: datetime
    until: datetime | None = Field(description="null: until it is resumed.")
    reason: str


class ScheduleReport(Frozen):
    """A schedule and when it starts next."""

    id: str
    name: str
    cron: str
    zone: str
    sweep: SweepSpec
    baseline: str | None
    catch_up: CatchUp
    most_catch_ups: int
    overlap: Overlap
    jitter_s: int
    aa_control: bool
    offset_s: float = Field(description="By how much every start is put off: its part of jitter_s.")
    pause: PauseReport | None = Field(description="null where it is not paused now.")
    next_starts: tuple[datetime, ...] = Field(
        description=f"The next {NUM_NEXT} that no pause covers, in UTC, with the offset."
    )
    last_held: HeldReport | None = Field(
        description="Its newest night against the baseline; null where none was held yet."
    )
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, schedule: Schedule, *, now: datetime, last: HeldNight | None) -> Self:
        """Publish what the row tells."""
        spec, pause = schedule.spec, schedule.pause
        is_paused = pause is not None and pause.covers(now)
        return cls(
            **dict(spec),
            id=schedule.id,
            offset_s=schedule.timetable.offset.total_seconds(),
            pause=PauseReport(since=pause.since, until=pause.until, reason=pause.reason)
            if pause is not None and is_paused
            else None,
            next_starts=_next_starts(schedule, pause if is_paused else None, now=now),
            last_held=None if last is None else HeldReport.of(last),
            created_by=schedule.created_by,
            created_at=schedule.created_at,
        )


class DecisionReport(Frozen):
    """What became of one time that a schedule named."""

    scheduled_for: datetime
    decided_at: datetime
    action: Action
    reason: str
    sweep_id: str | None = Field(description="Of the sweep it started.")
    held: HeldReport | None = Field(
        description="That sweep against the schedule's baseline, made by itself once it is over."
    )

    @classmethod
    def of(cls, decided: Decided, held: HeldNight | None = None) -> Self:
        """Publish what the row tells."""
        return cls(
            scheduled_for=decided.scheduled_for,
            decided_at=decided.decided_at,
            action=decided.action,
            reason=decided.reason,
            sweep_id=decided.sweep_id,
            held=None if held is None else HeldReport.of(held),
        )


def find(session: Session, name: str) -> ScheduleReport:
    """By id or name. NotFoundError if there is none."""
    return report(session, stored.find(session, name))


def report(session: Session, schedule: Schedule) -> ScheduleReport:
    """Report one by the database's clock."""
    last = held_nights.newest(session, [schedule.id])
    return ScheduleReport.of(schedule, now=db_time(session), last=last.get(schedule.id))


def list_all(session: Session) -> tuple[ScheduleReport, ...]:
    """By name."""
    now, found = db_time(session), stored.list_all(session)
    last = held_nights.newest(session, [one.id for one in found])
    return tuple(ScheduleReport.of(one, now=now, last=last.get(one.id)) for one in found)


def decisions(
    session: Session, name: str, *, limit: int, cursor: str | None = None
) -> Page[DecisionReport]:
    """Newest time first. NotFoundError if there is no such schedule."""
    schedule = stored.find(session, name)
    found = stored.decisions(session, schedule.id, limit=limit, cursor=cursor)
    sweep_ids = [one.sweep_id for one in found.items if one.sweep_id is not None]
    held = held_nights.of_sweeps(session, sweep_ids)
    shown = tuple(DecisionReport.of(one, held.get(one.sweep_id or "")) for one in found.items)
    return Page(shown, found.next_cursor)


def _next_starts(schedule: Schedule, pause: Pause | None, *, now: datetime) -> tuple[datetime, ...]:
    after = max(schedule.decided_until, now - schedule.timetable.offset)
    if pause is not None:
        if pause.until is None:
            return ()
        after = max(after, pause.until - RESOLUTION)  # a pause does not cover its own end
    return tuple(itertools.islice(schedule.timetable.starts(after=after), NUM_NEXT))
