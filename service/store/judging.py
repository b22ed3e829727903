"""A finished sweep of a schedule is judged once.

First everything is read and judged, which takes seconds for a fleet; then what follows is written
in one short transaction with the schedule locked, unless another has judged meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import exists, insert, or_, select
from sqlalchemy.orm import Session, aliased

from service.analysis.changepoints.parameters import DETECTOR_VERSION
from service.analysis.findings.history import Reading, history_of
from service.analysis.findings.nightly import NightVerdict, judge_night
from service.analysis.findings.states import FindingState
from service.analysis.schedules.tags import RERUN_OF, TAG
from service.store import findings, history, reruns
from service.store.clock import db_time
from service.store.finding_book import FindingBook
from service.store.history import Night
from service.store.models.finding import JudgementRow
from service.store.models.schedule import ScheduleRow
from service.store.models.sweep import SweepRow, SweepTagRow
from service.store.schedules import Schedule


@dataclass(frozen=True, slots=True)
class Due:
    """A finished sweep of a schedule that nobody has judged."""

    schedule_id: str
    policy: str
    """Its name."""
    sweep_id: str


@dataclass(frozen=True, slots=True)
class OfHardware:
    """What the nights of one hardware show."""

    hardware_key: str
    readings: Sequence[Reading]
    verdict: NightVerdict


@dataclass(frozen=True, slots=True)
class Looked:
    """All that a sweep is judged by."""

    due: Due
    until: Night
    nights: Sequence[Night]
    found: tuple[OfHardware, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judgement of one sweep came to."""

    policy: str
    sweep_id: str
    num_nights: int
    num_series: int
    moved: tuple[str, ...]
    """Findings whose state changed."""
    rerun_id: str | None
    """Of the sweep that measures the suspects again."""


def due(session: Session) -> list[Due]:
    """Oldest first; what was measured before its schedule existed is history, and never due."""
    own, first = aliased(SweepTagRow, name="own"), aliased(SweepTagRow, name="first")
    nights = (
        select(ScheduleRow.id, ScheduleRow.name, SweepRow.id.label("sweep_id"), SweepRow.created_at)
        .join(own, (own.key == TAG) & (own.value == ScheduleRow.name))
        .join(SweepRow, SweepRow.id == own.sweep_id)
    )
    repeats = (
        select(ScheduleRow.id, ScheduleRow.name, SweepRow.id.label("sweep_id"), SweepRow.created_at)
        .join(first, (first.key == TAG) & (first.value == ScheduleRow.name))
        .join(own, (own.key == RERUN_OF) & (own.value == first.sweep_id))
        .join(SweepRow, SweepRow.id == own.sweep_id)
    )
    is_judged = exists(select(1).where(JudgementRow.sweep_id == SweepRow.id))
    found = [
        row
        for chosen in (nights, repeats)
        for row in session.execute(
            chosen.where(
                SweepRow.finished_at.is_not(None),
                SweepRow.created_at >= ScheduleRow.created_at,
                ~is_judged,
            )
        )
    ]
    ordered = sorted(found, key=lambda row: (row.created_at, row.sweep_id))
    return [Due(row.id, row.name, row.sweep_id) for row in ordered]


def look(session: Session, due: Due) -> Looked:
    """Read and judge the nights up to a sweep; a reading session is enough."""
    until = _newest(session, due)
    nights = history.nights(session, due.policy, until=until)
    found = tuple(
        OfHardware(key, readings, judge_night(history_of(readings, num_nights=len(nights))))
        for key, readings in sorted(history.readings(session, nights).items())
    )
    return Looked(due, until, nights, found)


def judge(session: Session, schedule: Schedule, looked: Looked) -> Judgement | None:
    """Write what follows for a locked schedule; None where another was faster: look again."""
    sweep_id, policy, now = looked.due.sweep_id, schedule.spec.name, db_time(session)
    is_judged = exists(select(1).where(JudgementRow.sweep_id == sweep_id))
    if session.scalar(select(is_judged)) or _newest(session, looked.due) != looked.until:
        return None
    moved: list[str] = []
    for of in looked.found:
        book = FindingBook(session, policy, of.hardware_key, looked.nights, of.readings, now)
        moved += book.enter(of.verdict)
    states = [findings.find(session, one).state for one in moved]
    num_series = sum(of.verdict.num_series for of in looked.found)
    session.execute(
        insert(JudgementRow).values(
            sweep_id=sweep_id,
            policy=policy,
            detector_version=DETECTOR_VERSION,
            judged_at=now,
            num_nights=len(looked.nights),
            num_series=num_series,
            num_suspects=states.count(FindingState.SUSPECT),
            num_confirmed=states.count(FindingState.CONFIRMED),
        )
    )
    return Judgement(
        policy=policy,
        sweep_id=sweep_id,
        num_nights=len(looked.nights),
        num_series=num_series,
        moved=tuple(moved),
        rerun_id=_measure_again(session, schedule, looked),
    )


def _measure_again(session: Session, schedule: Schedule, looked: Looked) -> str | None:
    """Of a night itself, not of its re-run, and only while it is the newest."""
    sweep_id = looked.due.sweep_id
    if sweep_id != looked.until.sweep_id:
        return None
    for of in looked.found:
        ordered = reruns.order(
            session,
            sweep_id,
            of.verdict.suspect_cases,
            hardware_key=of.hardware_key,
            created_by=schedule.created_by,
        )
        if ordered is not None:
            return ordered
    return None


def _newest(session: Session, due: Due) -> Night:
    """The newest night that is judged, or is this one: later ones have their own turn."""
    chosen = (
        select(SweepRow.id, SweepRow.created_at)
        .join(SweepTagRow, SweepTagRow.sweep_id == SweepRow.id)
        .outerjoin(JudgementRow, JudgementRow.sweep_id == SweepRow.id)
        .where(
            SweepTagRow.key == TAG,
            SweepTagRow.value == due.policy,
            or_(JudgementRow.sweep_id.is_not(None), SweepRow.id == due.sweep_id),
        )
        .order_by(SweepRow.created_at.desc(), SweepRow.id.desc())
        .limit(1)
    )
    row = session.execute(chosen).one()
    return Night(row.id, row.created_at)
