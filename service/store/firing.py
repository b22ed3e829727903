"""A schedule's due times become decisions and sweeps, in one transaction with the schedule locked.

The lock lets one dispatcher decide; the key of the decisions lets nothing start twice even so.
"""

from datetime import datetime

from sqlalchemy import exists, insert, select
from sqlalchemy.orm import Session

from service.analysis import plan
from service.analysis.schedules.decide import Action, Decision, decide, judge_overlap
from service.errors import ConflictError, InvalidRequestError
from service.store import fleet, schedules, sweeps
from service.store.clock import db_time
from service.store.models.schedule import ScheduleDecisionRow
from service.store.models.sweep import SweepRow
from service.store.schedules import Decided, Schedule
from service.store.submission import seed_from
from workers.contract.point import PointSpec


def fire_due(
    session: Session, schedule: Schedule, *, max_points: int, is_early: bool = False
) -> list[Decided]:
    """Decide on every time that a locked schedule has named by now.

    What it puts off waits until then, unless this is early.
    """
    now = db_time(session)
    judged = decide(
        schedule.timetable,
        schedule.policies,
        now=now,
        decided_until=schedule.decided_until,
        pause=schedule.pause,
        num_unfinished=len(_unfinished(session, schedule.id)),
        is_early=is_early,
    )
    found = [
        _settle(session, schedule, one, now=now, max_points=max_points)
        for one in judged.decisions
        if not _is_decided(session, schedule.id, one.scheduled_for)
    ]
    schedules.decided(
        session, schedule.id, until=judged.decided_until, next_start_at=judged.next_start_at
    )
    return found


def run_now(session: Session, schedule: Schedule, *, asked_by: str, max_points: int) -> Decided:
    """Start a locked schedule's sweep at once, whatever its policies say.

    InvalidRequestError where nothing of it can be measured.
    """
    now = db_time(session)
    if _is_decided(session, schedule.id, now):
        raise ConflictError(f"schedule {schedule.spec.name!r} was started at this very moment")
    sweep_id = _start(session, schedule, scheduled_for=now, max_points=max_points)
    decision = Decision(now, Action.FIRED, f"asked for by {asked_by}")
    return _keep(session, schedule, decision, decided_at=now, sweep_id=sweep_id)


def _settle(
    session: Session, schedule: Schedule, decision: Decision, *, now: datetime, max_points: int
) -> Decided:
    """Carry a decision out as far as overlap and hardware let it, and keep it."""
    if decision.action is not Action.FIRED:
        return _keep(session, schedule, decision, decided_at=now)
    overlap = judge_overlap(schedule.spec.overlap, _unfinished(session, schedule.id))
    if not overlap.starts:
        skipped = Decision(decision.scheduled_for, Action.SKIPPED, overlap.reason)
        return _keep(session, schedule, skipped, decided_at=now)
    try:
        sweep_id = _start(
            session, schedule, scheduled_for=decision.scheduled_for, max_points=max_points
        )
    except InvalidRequestError as error:
        refused = Decision(decision.scheduled_for, Action.REFUSED, error.detail)
        return _keep(session, schedule, refused, decided_at=now)
    for previous in overlap.cancel:
        sweeps.cancel(session, previous)
    reason = "; ".join(part for part in (decision.reason, overlap.reason) if part)
    started = Decision(decision.scheduled_for, Action.FIRED, reason)
    return _keep(session, schedule, started, decided_at=now, sweep_id=sweep_id)


def _start(
    session: Session, schedule: Schedule, *, scheduled_for: datetime, max_points: int
) -> str:
    spec = schedule.spec.started_sweep
    nodes = fleet.node_facts(session)
    expansion = plan.expand(spec, nodes=nodes, max_points=max_points)
    plan.refuse_nothing_left(expansion)
    sweep = sweeps.create(
        session,
        spec,
        created_by=schedule.created_by,
        seed=_seed(schedule.id, scheduled_for),
        expansion=expansion,
    )
    if schedule.spec.aa_control:
        _start_aa(session, schedule, expansion.points[0], scheduled_for=scheduled_for)
    return sweep.id


def _start_aa(
    session: Session, schedule: Schedule, point: PointSpec, *, scheduled_for: datetime
) -> None:
    """Queue the schedule's A/A control, behind its sweep; whatever judges nights leaves it out."""
    control = schedule.spec.aa_sweep(point)
    sweeps.create(
        session,
        control,
        created_by=schedule.created_by,
        seed=_seed(schedule.id, scheduled_for),
        expansion=control.expand(),
    )


def _seed(schedule_id: str, scheduled_for: datetime) -> int:
    """Another order every night, the same for the same night."""
    return seed_from(f"{schedule_id}:{scheduled_for.isoformat()}")


def _unfinished(session: Session, schedule_id: str) -> list[str]:
    """Sweeps of the schedule that go on, oldest first."""
    chosen = (
        select(SweepRow.id)
        .join(ScheduleDecisionRow, ScheduleDecisionRow.sweep_id == SweepRow.id)
        .where(
            ScheduleDecisionRow.schedule_id == schedule_id,
            SweepRow.finished_at.is_(None),
            SweepRow.cancel_requested_at.is_(None),
        )
        .order_by(SweepRow.id)
    )
    return list(session.scalars(chosen))


def _is_decided(session: Session, schedule_id: str, scheduled_for: datetime) -> bool:
    same = select(1).where(
        ScheduleDecisionRow.schedule_id == schedule_id,
        ScheduleDecisionRow.scheduled_for == scheduled_for,
    )
    return bool(session.scalar(select(exists(same))))


def _keep(
    session: Session,
    schedule: Schedule,
    decision: Decision,
    *,
    decided_at: datetime,
    sweep_id: str | None = None,
) -> Decided:
    kept = Decided(
        schedule_id=schedule.id,
        scheduled_for=decision.scheduled_for,
        decided_at=decided_at,
        action=decision.action,
        reason=decision.reason,
        sweep_id=sweep_id,
    )
    session.execute(
        insert(ScheduleDecisionRow).values(
            schedule_id=kept.schedule_id,
            scheduled_for=kept.scheduled_for,
            decided_at=kept.decided_at,
            action=kept.action,
            reason=kept.reason,
            sweep_id=kept.sweep_id,
        )
    )
    return kept
