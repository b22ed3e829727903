"""What happens to a sweep as a whole.

Locks are taken in one order everywhere: the sweep, then its trials. Who changes several sweeps
waits for them once, in the order of their ids, and only tries the lock of any other.
"""

from collections.abc import Collection
from datetime import datetime
from functools import cache

from pydantic import JsonValue
from sqlalchemy import Select, Update, bindparam, exists, select, update
from sqlalchemy.orm import Session, aliased

from service.errors import ConflictError, NotFoundError
from service.store import derived, events, rounds
from service.store.clock import db_now, db_now_parameter, db_now_value, has_own_clock
from service.store.events import Happening
from service.store.models.sweep import SweepRow
from service.store.models.trial import TrialRow
from service.store.states import ACTIVE, EventKind, TrialState

_QUEUED = aliased(TrialRow, name="queued")


def lock_sweep(session: Session, sweep_id: str) -> bool:
    """Keep others from changing the sweep or its trials; return whether it is being cancelled."""
    row = session.connection().execute(_lock(), {"locked_sweep_id": sweep_id}).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no sweep {sweep_id!r}")
    return row.cancel_requested_at is not None


def lock_sweeps(session: Session, sweep_ids: Collection[str]) -> None:
    """Do so to all of them, before anything else is locked."""
    if sweep_ids:
        session.connection().execute(_lock_all(), {"locked_sweep_ids": list(sweep_ids)})


def try_lock_sweep(session: Session, sweep_id: str) -> bool:
    """Do so without waiting; False while another has it."""
    return session.connection().scalar(_try_lock(), {"locked_sweep_id": sweep_id}) is not None


def cancel_sweep(session: Session, sweep_id: str) -> None:
    """Cancel what is queued, ask the holders of the rest to stop. A finished sweep stays."""
    if lock_sweep(session, sweep_id) or not _has_active(session, sweep_id):
        return
    session.execute(
        update(SweepRow).where(SweepRow.id == sweep_id).values(cancel_requested_at=db_now(session)),
        execution_options={"synchronize_session": False},
    )
    cancel_queued(session, sweep_id)
    note(session, sweep_id, EventKind.SWEEP_CANCELLED)


def cancel_queued(session: Session, sweep_id: str) -> int:
    """Cancel the queued trials of a locked sweep; return how many. One being claimed is let go."""
    queued = (
        select(_QUEUED.id)
        .where(_QUEUED.sweep_id == sweep_id, derived.is_queued(_QUEUED))
        .with_for_update(skip_locked=True)
    )
    stopped = session.scalars(
        update(TrialRow)
        .where(TrialRow.id.in_(queued))
        .values(state=TrialState.CANCELLED, finished_at=db_now(session))
        .returning(TrialRow.id),
        execution_options={"synchronize_session": False},
    )
    return len(stopped.all())


def retry_sweep(session: Session, sweep_id: str) -> None:
    """Put failed trials back with a new budget."""
    if lock_sweep(session, sweep_id):
        raise ConflictError(f"sweep {sweep_id} was cancelled; submit it again")
    back = session.scalars(
        update(TrialRow)
        .where(TrialRow.sweep_id == sweep_id, TrialRow.state == TrialState.FAILED)
        .values(
            state=TrialState.QUEUED,
            num_charged=0,
            ready_at=db_now(session),
            started_at=None,
            finished_at=None,
        )
        .returning(TrialRow.id),
        execution_options={"synchronize_session": False},
    ).all()
    if not back:
        raise ConflictError(f"sweep {sweep_id} has no failed points to put back")
    session.execute(
        update(SweepRow).where(SweepRow.id == sweep_id).values(finished_at=None),
        execution_options={"synchronize_session": False},
    )
    note(session, sweep_id, EventKind.SWEEP_RETRIED, num_trials=len(back))


def note(session: Session, sweep_id: str, kind: EventKind, **data: JsonValue) -> None:
    """Append an event that says how far the sweep is; at the end of a round, begin the next one.

    A sweep without another round is closed.
    """
    counts = derived.trial_counts(session, [sweep_id])[sweep_id]
    if not any(counts[state] for state in ACTIVE) and rounds.begin_next(session, sweep_id):
        counts = derived.trial_counts(session, [sweep_id])[sweep_id]
    reached: dict[str, JsonValue] = {state.value: number for state, number in counts.items()}
    happenings = [Happening(kind, {**data, "counts": reached})]
    if not any(counts[state] for state in ACTIVE):
        final: dict[str, JsonValue] = {"state": _finish(session, sweep_id), "counts": reached}
        happenings.append(Happening(EventKind.SWEEP_FINISHED, final))
    events.append(session, sweep_id, *happenings)


def _finish(session: Session, sweep_id: str) -> str | None:
    """Note when the sweep ended; return what its trials come to."""
    connection = session.connection()
    parameters = {"ended_sweep_id": sweep_id, "now": db_now_value(session)}
    connection.execute(_end(own_clock=has_own_clock(session)), parameters)
    state: str | None = connection.scalar(_final_state(), {"ended_sweep_id": sweep_id})
    return state


def _has_active(session: Session, sweep_id: str) -> bool:
    return bool(session.connection().scalar(_is_active(), {"open_sweep_id": sweep_id}))


@cache
def _lock() -> Select[datetime | None]:
    wanted = SweepRow.id == bindparam("locked_sweep_id")
    return select(SweepRow.cancel_requested_at).where(wanted).with_for_update(key_share=True)


@cache
def _lock_all() -> Select[str]:
    wanted = SweepRow.id.in_(bindparam("locked_sweep_ids", expanding=True))
    return select(SweepRow.id).where(wanted).order_by(SweepRow.id).with_for_update(key_share=True)


@cache
def _try_lock() -> Select[str]:
    wanted = SweepRow.id == bindparam("locked_sweep_id")
    return select(SweepRow.id).where(wanted).with_for_update(key_share=True, skip_locked=True)


@cache
def _end(*, own_clock: bool) -> Update:
    return (
        update(SweepRow)
        .where(SweepRow.id == bindparam("ended_sweep_id"))
        .values(finished_at=db_now_parameter("now", own_clock=own_clock))
    )


@cache
def _final_state() -> Select[str]:
    return select(derived.sweep_state()).where(SweepRow.id == bindparam("ended_sweep_id"))


@cache
def _is_active() -> Select[bool]:
    wanted = TrialRow.sweep_id == bindparam("open_sweep_id")
    return select(exists(select(1).where(wanted, TrialRow.state.in_(ACTIVE))))
