"""What a new dispatcher of a pool does about the one before it."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from service.errors import LeaseLostError
from service.store import ending
from service.store.derived import is_held
from service.store.leases import Failure, Grant
from service.store.models.fleet import PoolRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import AttemptOutcome


def pool_owner(session: Session, pool: str) -> str | None:
    """Who took the pool last, whether the lease still runs or not."""
    return session.scalar(select(PoolRow.owner).where(PoolRow.name == pool))


def evict(session: Session, pool: str, *, owner: str, max_attempts: int) -> int:
    """Take pool and trials from an owner that is known to be dead; return the number of trials.

    Their attempts count against the budget, as those of any lease that ran out.
    """
    session.execute(
        delete(PoolRow).where(PoolRow.name == pool, PoolRow.owner == owner),
        execution_options={"synchronize_session": False},
    )
    held = session.execute(
        select(
            TrialRow.id,
            TrialRow.attempt,
            TrialRow.sweep_id,
            TrialRow.point_id,
            TrialRow.replicate,
        )
        .where(is_held(TrialRow), TrialRow.owner == owner)
        .order_by(TrialRow.sweep_id, TrialRow.id)
    ).all()
    failure = Failure(code="lease_expired", message=f"{owner} died while it held the trial")
    num_taken = 0
    for row in held:
        grant = Grant(
            trial_id=row.id,
            attempt=row.attempt,
            sweep_id=row.sweep_id,
            point_id=row.point_id,
            replicate=row.replicate,
            owner=owner,
        )
        num_taken += _take_back(session, grant, failure, max_attempts=max_attempts)
    return num_taken


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


def _take_back(session: Session, grant: Grant, failure: Failure, *, max_attempts: int) -> bool:
    try:
        ending.end_without_result(
            session,
            grant,
            outcome=AttemptOutcome.EXPIRED,
            failure=failure,
            budget=max_attempts,
            only_if=TrialRow.owner == grant.owner,
        )
    except LeaseLostError:
        return False
    return True
