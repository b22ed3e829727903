"""Trials that no machine can ever run end as failed, and say what there is."""

from collections.abc import Sequence

from sqlalchemy import insert, literal, or_, select, update
from sqlalchemy.orm import Session

from service.store import ending, sweep_changes
from service.store.clock import db_now
from service.store.derived import is_queued
from service.store.leases import Failure, Grant
from service.store.models.point import PointRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import AttemptOutcome, EventKind, TrialState
from workers.contract.hardware import Hardware, NodeFacts

OWNER = "no dispatcher"


def fail_unplaceable(session: Session, fleet: Sequence[NodeFacts]) -> int:
    """Fail what fits no node of the fleet, known now or before; return the number of trials.

    Where only a sweep's larger degrees fit nowhere, the smaller ones go on in a smaller group. A
    sweep that another has locked is left to the next look.
    """
    rows = session.execute(
        select(SweepRow.id, SweepRow.num_devices)
        .where(SweepRow.finished_at.is_(None), SweepRow.cancel_requested_at.is_(None))
        .order_by(SweepRow.id)
    ).all()
    fitting = _largest_fitting(session, [row.id for row in rows], fleet)
    num_failed = 0
    for row in rows:
        largest = fitting[row.id]
        if row.num_devices > largest and sweep_changes.try_lock_sweep(session, row.id):
            num_failed += _cut_down(session, row.id, largest, fleet)
    return num_failed


def _largest_fitting(
    session: Session, sweep_ids: Sequence[str], fleet: Sequence[NodeFacts]
) -> dict[str, int]:
    """By sweep, slots of the largest node that may measure it; 0 where none may.

    Asked once for each kind of hardware: many nodes are of few kinds.
    """
    largest: dict[Hardware, int] = {}
    for facts in fleet:
        largest[facts.hardware] = max(facts.num_slots, largest.get(facts.hardware, 0))
    fitting = dict.fromkeys(sweep_ids, 0)
    for hardware, num_slots in largest.items():
        accelerator = literal(hardware.accelerator.lower())
        fits = select(SweepRow.id).where(
            SweepRow.id.in_(sweep_ids),
            or_(SweepRow.hardware_key.is_(None), SweepRow.hardware_key == hardware.hardware_key),
            or_(
                SweepRow.accelerator_pattern.is_(None),
                accelerator.like(SweepRow.accelerator_pattern, escape="\\"),
            ),
        )
        for sweep_id in session.scalars(fits):
            fitting[sweep_id] = max(num_slots, fitting[sweep_id])
    return fitting


def _cut_down(session: Session, sweep_id: str, largest: int, fleet: Sequence[NodeFacts]) -> int:
    """Fail the larger degrees of a locked sweep."""
    rows = session.execute(
        select(
            TrialRow.id, TrialRow.attempt, TrialRow.point_id, TrialRow.replicate, PointRow.tp_degree
        )
        .join(PointRow, PointRow.id == TrialRow.point_id)
        .where(TrialRow.sweep_id == sweep_id, is_queued(TrialRow), PointRow.tp_degree > largest)
        .order_by(TrialRow.id)
    ).all()
    for trial_id, attempt, point_id, replicate, tp_degree in rows:
        grant = Grant(
            trial_id=trial_id,
            attempt=attempt + 1,
            sweep_id=sweep_id,
            point_id=point_id,
            replicate=replicate,
            owner=OWNER,
        )
        _fail(session, grant, _failure(tp_degree, largest, fleet))
    _shrink(session, sweep_id, largest)
    return len(rows)


def _fail(session: Session, grant: Grant, failure: Failure) -> None:
    """Record one attempt that never began, so that the cause stands where all causes stand."""
    now = db_now(session)
    session.execute(
        update(TrialRow)
        .where(TrialRow.id == grant.trial_id)
        .values(state=TrialState.FAILED, attempt=grant.attempt, finished_at=now),
        execution_options={"synchronize_session": False},
    )
    session.execute(
        insert(AttemptRow).values(
            trial_id=grant.trial_id,
            attempt=grant.attempt,
            owner=grant.owner,
            granted_at=now,
            ended_at=now,
            outcome=AttemptOutcome.FAILED,
            code=failure.code,
            message=failure.message,
            is_final=True,
        )
    )
    ending.note(session, grant, EventKind.TRIAL_FAILED, failure=failure)


def _shrink(session: Session, sweep_id: str, largest: int) -> None:
    degrees = session.scalar(select(SweepRow.degrees).where(SweepRow.id == sweep_id)) or ()
    left = tuple(degree for degree in degrees if degree <= largest)
    if left:
        session.execute(
            update(SweepRow)
            .where(SweepRow.id == sweep_id)
            .values(degrees=left, num_devices=max(left)),
            execution_options={"synchronize_session": False},
        )


def _failure(tp_degree: int, largest: int, fleet: Sequence[NodeFacts]) -> Failure:
    known = "; ".join(
        f"{facts.name}: {facts.num_slots} x {facts.hardware.accelerator}" for facts in fleet
    )
    fits = f"the largest node that fits the sweep has {largest}" if largest else "no node fits it"
    return Failure(
        code="no_such_node",
        message=f"tp_degree {tp_degree} needs {tp_degree} devices on one node; {fits}. "
        f"Known: {known or 'nothing'}",
        is_final=True,
    )
