"""The queue of trials: claimed in one statement, fenced by the attempt number.

The database's clock judges every lease. A function that starts, ends or returns a lease raises
LeaseLostError, and has then changed nothing, if the lease is no longer the holder's.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import select, tuple_, update
from sqlalchemy.orm import Session

from service.analysis.summary import summarise
from service.errors import ConflictError
from service.store import claiming, ending, granting, recording, recovery, sweep_changes
from service.store.clock import db_now
from service.store.derived import is_held
from service.store.leases import DEFAULT_MAX_ATTEMPTS, Failure, Lease, Offer
from service.store.models.sweep import SweepRow
from service.store.models.trial import TrialRow
from service.store.recovery import Recovered
from service.store.states import AttemptOutcome, EventKind, TrialState
from workers.contract.trial import TrialResult

_NUM_LOST_RACES = 3
_NO_TIME = timedelta(0)


def claim(
    session: Session,
    *,
    owner: str,
    offer: Offer,
    ttl: timedelta,
    prefer: tuple[str, int] | None = None,
    besides: Collection[tuple[str, int]] = (),
) -> Lease | None:
    """Lease the most urgent trial that the offer can run, or None. Never waits for another claim.

    Order: priority, then `prefer` (the sweep and replicate the group is in), then age, replicate,
    position. A replicate that another group holds is left to it, and so are those of `besides`: the
    owner's other groups are in them, also while they hold no trial. The sweep is bound to the
    offer's hardware.
    """
    if not claiming.is_any_ready(session):
        return None
    for _ in range(_NUM_LOST_RACES):
        with session.connection().begin_nested() as race:
            trial_id = claiming.take_next(
                session, owner=owner, offer=offer, ttl=ttl, prefer=prefer, besides=besides
            )
            if trial_id is None:
                return None
            if not claiming.is_taken(session, trial_id, owner=owner, prefer=prefer):
                lease = granting.grant(session, trial_id, offer=offer, ttl=ttl)
                if lease is not None:
                    return lease
            race.rollback()
    return None


def start(session: Session, lease: Lease) -> None:
    """From leased to running."""
    sweep_changes.lock_sweep(session, lease.sweep_id)
    ending.begin(session, lease)
    ending.note(session, lease, EventKind.TRIAL_STARTED)


def heartbeat(session: Session, leases: Sequence[Lease], *, ttl: timedelta) -> list[Lease]:
    """Renew; return those that are lost: run out, or another attempt's.

    It locks trials without their sweeps: nobody but the holder waits for one whose lease has not
    run out.
    """
    if not leases:
        return []
    keys = [(lease.trial_id, lease.attempt) for lease in leases]
    kept = session.execute(
        update(TrialRow)
        .where(
            tuple_(TrialRow.id, TrialRow.attempt).in_(keys),
            is_held(TrialRow),
            TrialRow.lease_expires_at > db_now(session),
        )
        .values(lease_expires_at=db_now(session, plus=ttl))
        .returning(TrialRow.id, TrialRow.attempt),
        execution_options={"synchronize_session": False},
    )
    renewed = {(trial_id, attempt) for trial_id, attempt in kept}
    return [lease for lease in leases if (lease.trial_id, lease.attempt) not in renewed]


def complete(session: Session, lease: Lease, result: TrialResult) -> None:
    """Store the result and end the trial. EmptyTrialError, and nothing changed, without samples.

    Of a pair, both points' results.
    """
    summary = summarise(result)
    pair_summary = None if result.pair is None else summarise(result.pair, beside=result)
    sweep_changes.lock_sweep(session, lease.sweep_id)
    ending.end(session, lease, state=TrialState.SUCCEEDED, outcome=AttemptOutcome.SUCCEEDED)
    recording.record(session, lease, result, summary=summary)
    if result.pair is not None and pair_summary is not None:
        recording.record(session, _other_point(lease), result.pair, summary=pair_summary)
    ending.note(session, lease, EventKind.TRIAL_SUCCEEDED)


def fail(
    session: Session,
    lease: Lease,
    failure: Failure,
    *,
    retry: bool,
    delay: timedelta = _NO_TIME,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
) -> TrialState:
    """End the attempt: queued again after `delay` while the budget lasts, else failed."""
    return ending.end_without_result(
        session,
        lease,
        outcome=AttemptOutcome.FAILED,
        failure=failure,
        budget=max_attempts if retry and not failure.is_final else 0,
        delay=delay,
    )


def release(session: Session, lease: Lease) -> TrialState:
    """Give the trial back unharmed (graceful stop): the attempt does not count in its budget."""
    return ending.end_without_result(session, lease, outcome=AttemptOutcome.RELEASED)


def cancel(session: Session, lease: Lease) -> None:
    """Close a held trial of a cancelled sweep, once its ranks have stopped."""
    if not sweep_changes.lock_sweep(session, lease.sweep_id):
        raise ConflictError(f"sweep {lease.sweep_id} is not being cancelled; release its trials")
    ending.end(session, lease, state=TrialState.CANCELLED, outcome=AttemptOutcome.CANCELLED)
    ending.note(session, lease, EventKind.TRIAL_CANCELLED)


def cancelled(session: Session, leases: Sequence[Lease]) -> list[Lease]:
    """Those whose sweep was cancelled: stop them, then `cancel` them."""
    if not leases:
        return []
    stopping = set(
        session.scalars(
            select(SweepRow.id).where(
                SweepRow.id.in_({lease.sweep_id for lease in leases}),
                SweepRow.cancel_requested_at.is_not(None),
            )
        )
    )
    return [lease for lease in leases if lease.sweep_id in stopping]


def recover_expired(
    session: Session, *, max_attempts: int = DEFAULT_MAX_ATTEMPTS
) -> list[Recovered]:
    """Take back every lease that ran out, and close what a cancellation just missed."""
    recovery.finish_cancelled(session)
    return recovery.recover(session, max_attempts=max_attempts)


def _other_point(lease: Lease) -> Lease:
    """The same hold, seen from the second point of the pair."""
    if lease.pair_point_id is None or lease.pair_spec is None:
        raise ConflictError(f"trial {lease.trial_id} is of one point, and its result of two")
    return replace(lease, point_id=lease.pair_point_id, spec=lease.pair_spec)
