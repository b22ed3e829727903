"""How an attempt at a trial changes and ends: always matched by trial, attempt and held state."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from functools import cache
from typing import Final

from sqlalchemy import ColumnElement, Update, bindparam, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningUpdate

from service.errors import LeaseLostError
from service.store import sweep_changes
from service.store.clock import db_now, db_now_parameter, db_now_value, has_own_clock
from service.store.leases import Failure, Grant
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import HELD, AttemptOutcome, EventKind, TrialState

_NO_TIME = timedelta(0)
_NO_VALUES: Final[Mapping[str, object]] = {}
_ANNOUNCED = {
    TrialState.QUEUED: EventKind.TRIAL_REQUEUED,
    TrialState.FAILED: EventKind.TRIAL_FAILED,
    TrialState.CANCELLED: EventKind.TRIAL_CANCELLED,
}


def begin(session: Session, grant: Grant) -> None:
    """From leased to running, in a locked sweep."""
    own_clock, now = has_own_clock(session), db_now_value(session)
    _change(session, grant, _begin_trial(own_clock=own_clock), {"now": now})
    parameters = _granted(grant) | {"now": now}
    session.connection().execute(_begin_attempt(own_clock=own_clock), parameters)


def end(
    session: Session,
    grant: Grant,
    *,
    state: TrialState,
    outcome: AttemptOutcome,
) -> None:
    """Finish a held trial of a locked sweep."""
    parameters = {"now": db_now_value(session), "end_state": state}
    _change(session, grant, _end_trial(own_clock=has_own_clock(session)), parameters)
    _close_attempt(session, grant, outcome=outcome)


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
    statement = _held_trial().values(values)
    if only_if is not None:
        statement = statement.where(only_if)
    _change(session, grant, statement)
    _close_attempt(session, grant, outcome=outcome, failure=failure)
    note(session, grant, _ANNOUNCED[state], failure=failure)
    return state


def earlier_codes(session: Session, grant: Grant) -> Sequence[str]:
    """Why the attempts before this one failed, oldest first, since the trial was last put back."""
    num_charged = session.scalar(select(TrialRow.num_charged).where(TrialRow.id == grant.trial_id))
    codes = session.scalars(
        select(AttemptRow.code)
        .where(
            AttemptRow.trial_id == grant.trial_id,
            AttemptRow.attempt < grant.attempt,
            AttemptRow.outcome.in_((AttemptOutcome.FAILED, AttemptOutcome.EXPIRED)),
        )
        .order_by(AttemptRow.attempt.desc())
        .limit(max(0, (num_charged or 1) - 1))
    )
    return [code for code in codes if code is not None][::-1]


def note(
    session: Session, grant: Grant, kind: EventKind, *, failure: Failure | None = None
) -> None:
    """Append the trial's event; where it was the sweep's last trial, the sweep ends with it."""
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
    session: Session,
    grant: Grant,
    change: ReturningUpdate[str],
    values: Mapping[str, object] = _NO_VALUES,
) -> None:
    if session.connection().scalar(change, {**_granted(grant), **values}) is None:
        msg = f"attempt {grant.attempt} at trial {grant.trial_id} no longer holds its lease"
        raise LeaseLostError(msg)


def _close_attempt(
    session: Session, grant: Grant, *, outcome: AttemptOutcome, failure: Failure | None = None
) -> None:
    parameters = _granted(grant) | {"now": db_now_value(session), "end_outcome": outcome}
    if failure is not None:
        parameters |= {
            f"its_{field.name}": getattr(failure, field.name) for field in fields(failure)
        }
    own_clock, has_failed = has_own_clock(session), failure is not None
    statement = _end_attempt(own_clock=own_clock, has_failed=has_failed)
    session.connection().execute(statement, parameters)


def _granted(grant: Grant) -> dict[str, object]:
    return {"granted_trial_id": grant.trial_id, "granted_attempt": grant.attempt}


@cache
def _held_trial() -> ReturningUpdate[str]:
    return _its_trial().where(TrialRow.state.in_(HELD))


@cache
def _begin_trial(*, own_clock: bool) -> ReturningUpdate[str]:
    now = db_now_parameter("now", own_clock=own_clock)
    change = _its_trial().where(TrialRow.state == TrialState.LEASED)
    return change.values(state=TrialState.RUNNING, started_at=now)


@cache
def _end_trial(*, own_clock: bool) -> ReturningUpdate[str]:
    return _held_trial().values(
        state=bindparam("end_state", type_=TrialRow.state.type),
        owner=None,
        lease_expires_at=None,
        finished_at=db_now_parameter("now", own_clock=own_clock),
    )


@cache
def _begin_attempt(*, own_clock: bool) -> Update:
    return _its_attempt().values(started_at=db_now_parameter("now", own_clock=own_clock))


@cache
def _end_attempt(*, own_clock: bool, has_failed: bool) -> Update:
    causes = [AttemptRow.__table__.c[field.name] for field in fields(Failure)]
    return (
        _its_attempt()
        .values(
            outcome=bindparam("end_outcome", type_=AttemptRow.outcome.type),
            ended_at=db_now_parameter("now", own_clock=own_clock),
        )
        .values({cause: bindparam(f"its_{cause.name}") for cause in causes if has_failed})
    )


def _its_trial() -> ReturningUpdate[str]:
    return (
        update(TrialRow)
        .where(
            TrialRow.id == bindparam("granted_trial_id"),
            TrialRow.attempt == bindparam("granted_attempt"),
        )
        .returning(TrialRow.id)
    )


def _its_attempt() -> Update:
    return update(AttemptRow).where(
        AttemptRow.trial_id == bindparam("granted_trial_id"),
        AttemptRow.attempt == bindparam("granted_attempt"),
    )
