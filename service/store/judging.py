"""A finished sweep of a schedule is judged once, in one transaction with the schedule locked."""

from dataclasses import dataclass

from sqlalchemy import exists, insert, or_, select
from sqlalchemy.orm import Session, aliased

from service.analysis.changepoints.parameters import DETECTOR_VERSION
from service.analysis.findings.history import history_of
from service.analysis.findings.nightly import judge_night
from service.analysis.findings.states import FindingState
from service.analysis.schedules.spec import TAG
from service.store import findings, history, reruns
from service.store.clock import db_time
from service.store.finding_book import FindingBook
from service.store.history import RERUN_OF, Night
from service.store.models.finding import JudgementRow
from service.store.models.schedule import ScheduleRow
from service.store.models.sweep import SweepRow, SweepTagRow
from service.store.schedules import Schedule


@dataclass(frozen=True, slots=True)
class Due:
    """A finished sweep of a schedule that nobody has judged."""

    schedule_id: str
    sweep_id: str


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
        select(ScheduleRow.id, SweepRow.id.label("sweep_id"), SweepRow.created_at)
        .join(own, (own.key == TAG) & (own.value == ScheduleRow.name))
        .join(SweepRow, SweepRow.id == own.sweep_id)
    )
    repeats = (
        select(ScheduleRow.id, SweepRow.id.label("sweep_id"), SweepRow.created_at)
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
    return [Due(row.id, row.sweep_id) for row in sorted(found, key=lambda r: (r[2], r[1]))]


def judge(session: Session, schedule: Schedule, sweep_id: str) -> Judgement | None:
    """Judge a sweep of a locked schedule; None where another has."""
    if session.scalar(select(exists(select(1).where(JudgementRow.sweep_id == sweep_id)))):
        return None
    policy, now = schedule.spec.name, db_time(session)
    nights = history.nights(session, policy, until=_newest(session, policy, sweep_id))
    num_series, moved, rerun_id = 0, list[str](), None
    for hardware_key, readings in sorted(history.readings(session, nights).items()):
        verdict = judge_night(history_of(readings, num_nights=len(nights)))
        num_series += verdict.num_series
        book = FindingBook(session, policy, hardware_key, nights, readings, now)
        moved += book.enter(verdict)
        if sweep_id == nights[-1].sweep_id and rerun_id is None:
            rerun_id = reruns.order(
                session,
                sweep_id,
                verdict.suspect_cases,
                hardware_key=hardware_key,
                created_by=schedule.created_by,
            )
    states = [findings.find(session, one).state for one in moved]
    session.execute(
        insert(JudgementRow).values(
            sweep_id=sweep_id,
            policy=policy,
            detector_version=DETECTOR_VERSION,
            judged_at=now,
            num_nights=len(nights),
            num_series=num_series,
            num_suspects=states.count(FindingState.SUSPECT),
            num_confirmed=states.count(FindingState.CONFIRMED),
        )
    )
    return Judgement(policy, sweep_id, len(nights), num_series, tuple(moved), rerun_id)


def _newest(session: Session, policy: str, sweep_id: str) -> Night | None:
    """The newest night that is judged, or is this one: later ones have their own turn."""
    chosen = (
        select(SweepRow.id, SweepRow.created_at)
        .join(SweepTagRow, SweepTagRow.sweep_id == SweepRow.id)
        .outerjoin(JudgementRow, JudgementRow.sweep_id == SweepRow.id)
        .where(
            SweepTagRow.key == TAG,
            SweepTagRow.value == policy,
            or_(JudgementRow.sweep_id.is_not(None), SweepRow.id == sweep_id),
        )
        .order_by(SweepRow.created_at.desc(), SweepRow.id.desc())
        .limit(1)
    )
    row = session.execute(chosen).one_or_none()
    return None if row is None else Night(row.id, row.created_at)
