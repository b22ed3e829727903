"""Leases that ran out are taken back by whoever looks first."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from service.errors import LeaseLostError
from service.store import ending, sweep_changes
from service.store.clock import db_now
from service.store.derived import is_held, is_queued
from service.store.leases import Failure, Grant
from service.store.models.sweep import SweepRow
from service.store.models.trial import TrialRow
from service.store.states import AttemptOutcome, EventKind, TrialState

LEASE_EXPIRED = "lease_expired"


@dataclass(frozen=True, slots=True)
class Recovered(Grant):
    """An attempt whose lease ran out, and what became of the trial."""

    state: TrialState
    """queued, failed past the budget, or cancelled with its sweep."""


def recover(session: Session, *, max_attempts: int) -> list[Recovered]:
    """Take back every lease that ran out.

    Those of a sweep that another has locked are left to it, or to the next look.
    """
    rows = session.execute(
        select(
            TrialRow.id,
            TrialRow.attempt,
            TrialRow.sweep_id,
            TrialRow.point_id,
            TrialRow.replicate,
            TrialRow.owner,
        )
        .where(is_held(TrialRow), TrialRow.lease_expires_at <= db_now(session))
        .order_by(TrialRow.sweep_id, TrialRow.id)
    ).all()
    found = [
        Grant(
            trial_id=row.id,
            attempt=row.attempt,
            sweep_id=row.sweep_id,
            point_id=row.point_id,
            replicate=row.replicate,
            owner=row.owner or "",
        )
        for row in rows
    ]
    taken = (_recovered(session, expired, max_attempts=max_attempts) for expired in found)
    return [recovered for recovered in taken if recovered is not None]


def take_back(
    session: Session,
    lost: Grant,
    *,
    message: str,
    max_attempts: int,
    only_if: ColumnElement[bool],
) -> TrialState | None:
    """End an attempt whose holder is gone; None where it has ended, or was renewed, meanwhile.

    The budget is of lost leases alone: attempts that ended otherwise were judged by other budgets.
    """
    earlier = ending.earlier_codes(session, lost)
    num_others = sum(code != LEASE_EXPIRED for code in earlier)
    try:
        return ending.end_without_result(
            session,
            lost,
            outcome=AttemptOutcome.EXPIRED,
            failure=Failure(code=LEASE_EXPIRED, message=message),
            budget=max_attempts + num_others,
            only_if=only_if,
        )
    except LeaseLostError:
        return None


def finish_cancelled(session: Session) -> None:
    """Close sweeps that were cancelled while a trial of theirs was being claimed in vain.

    One that another has locked is left to it, or to the next look.
    """
    waiting = exists(select(1).where(TrialRow.sweep_id == SweepRow.id, is_queued(TrialRow)))
    stopping = session.scalars(
        select(SweepRow.id)
        .where(SweepRow.finished_at.is_(None), SweepRow.cancel_requested_at.is_not(None), waiting)
        .order_by(SweepRow.id)
    ).all()
    for sweep_id in stopping:
        if not sweep_changes.try_lock_sweep(session, sweep_id):
            continue
        if sweep_changes.cancel_queued(session, sweep_id):
            sweep_changes.note(session, sweep_id, EventKind.SWEEP_CANCELLED)


def _recovered(session: Session, expired: Grant, *, max_attempts: int) -> Recovered | None:
    if not sweep_changes.try_lock_sweep(session, expired.sweep_id):
        return None
    state = take_back(
        session,
        expired,
        message=f"{expired.owner} stopped reporting; the dispatcher or its host is gone",
        max_attempts=max_attempts,
        only_if=TrialRow.lease_expires_at <= db_now(session),
    )
    if state is None:
        return None
    return Recovered(
        trial_id=expired.trial_id,
        attempt=expired.attempt,
        sweep_id=expired.sweep_id,
        point_id=expired.point_id,
        replicate=expired.replicate,
        owner=expired.owner,
        state=state,
    )
