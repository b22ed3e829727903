"""How an attempt at a trial changes and ends: always matched by trial, attempt and held state."""

from datetime import timedelta

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from service.errors import LeaseLostError
from service.store import sweep_changes
from service.store.clock import db_now
from service.store.leases import Failure, Grant
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import HELD, AttemptOutcome, EventKind, TrialState

_NO_TIME = timedelta(0)
_ANNOUNCED = {
    TrialState.QUEUED: EventKind.TRIAL_REQUEUED,
    TrialState.FAILED: EventKind.TRIAL_FAILED,
    TrialState.CANCELLED: EventKind.TRIAL_CANCELLED,
}


def begin(session: Session, grant: Grant) -> None:
    """From leased to running, in a locked sweep."""
    now = db_now(session)
    values: dict[str, object] = {"state": TrialState.RUNNING, "started_at": now}
    _change(session, grant, TrialRow.state == TrialState.LEASED, values=values)
    _write_attempt(session, grant, values={"started_at": now})


def end(
    session: Session,
    grant: Grant,
    *,
    state: TrialState,
    outcome: AttemptOutcome,
    failure: Failure | None = None,
) -> None:
    """Finish a held trial of a locked sweep."""
    now = db_now(session)
    values: dict[str, object] = {
        "state": state,
        "owner": None,
        "lease_expires_at": None,
        "finished_at": now,
    }
    _change(session, grant, TrialRow.state.in_(HELD), values=values)
    _close_attempt(session, grant, outcome=outcome, failure=failure)


def end_without_result(
    session: Session,
    grant: Grant,
    *,
    outcome: AttemptOutcome,
    failure: Failure | None = None,
    budget: int | None = None,
    delay: timedelta = _NO_TIME,
    only_if: ColumnElement[bool] | None = None,
) -> TrialState:
    """End the attempt; return whether the trial waits again, has failed or goes with its sweep.

    `budget` is how many attempts may be charged to the trial; None does not charge this one.
    """
    stopping = sweep_changes.lock_sweep(session, grant.sweep_id)
    num_charged = session.scalar(select(TrialRow.num_charged).where(TrialRow.id == grant.trial_id))
    spent = budget is not None and (num_charged or 0) >= budget
    state = _next_state(spent=spent, stopping=stopping)
    values: dict[str, object] = {"state": state, "owner": None, "lease_expires_at": None}
    if state is TrialState.QUEUED:
        values |= {"ready_at": db_now(session, plus=delay), "started_at": None}
    else:
        values |= {"finished_at": db_now(session)}
    if budget is None:
        values |= {"num_charged": TrialRow.num_charged - 1}
    conditions = (TrialRow.state.in_(HELD), *(() if only_if is None else (only_if,)))
    _change(session, grant, *conditions, values=values)
    _close_attempt(session, grant, outcome=outcome, failure=failure)
    announce(session, grant, _ANNOUNCED[state], failure=failure)
    return state


def announce(
    session: Session, grant: Grant, kind: EventKind, *, failure: Failure | None = None
) -> None:
    """Append the event of a trial's end, and the sweep's last one if this was its last trial."""
    note(session, grant, kind, failure=failure)
    sweep_changes.finish_if_over(session, grant.sweep_id)


def note(
    session: Session, grant: Grant, kind: EventKind, *, failure: Failure | None = None
) -> None:
    """Append the trial's event."""
    sweep_changes.note(
        session,
        grant.sweep_id,
        kind,
        trial_id=grant.trial_id,
        point_id=grant.point_id,
        replicate=grant.replicate,
        attempt=grant.attempt,
        code=None if failure is None else failure.code,
    )


def _next_state(*, spent: bool, stopping: bool) -> TrialState:
    if spent:
        return TrialState.FAILED
    return TrialState.CANCELLED if stopping else TrialState.QUEUED


def _change(
    session: Session, grant: Grant, *conditions: ColumnElement[bool], values: dict[str, object]
) -> None:
    changed = session.scalar(
        update(TrialRow)
        .where(TrialRow.id == grant.trial_id, TrialRow.attempt == grant.attempt, *conditions)
        .values(values)
        .returning(TrialRow.id),
        execution_options={"synchronize_session": False},
    )
    if changed is None:
        msg = f"attempt {grant.attempt} at trial {grant.trial_id} no longer holds its lease"
        raise LeaseLostError(msg)


def _close_attempt(
    session: Session, grant: Grant, *, outcome: AttemptOutcome, failure: Failure | None
) -> None:
    values: dict[str, object] = {"outcome": outcome, "ended_at": db_now(session)}
    if failure is not None:
        values |= {
            "code": failure.code,
            "message": failure.message,
            "rank": failure.rank,
            "signal": failure.signal,
            "node": failure.node,
            "log_tail": failure.log_tail,
            "is_final": failure.is_final,
        }
    _write_attempt(session, grant, values=values)


def _write_attempt(session: Session, grant: Grant, *, values: dict[str, object]) -> None:
    session.execute(
        update(AttemptRow)
        .where(AttemptRow.trial_id == grant.trial_id, AttemptRow.attempt == grant.attempt)
        .values(values),
        execution_options={"synchronize_session": False},
    )
