"""What a new dispatcher of a pool does about the one before it."""

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from service.store import recovery
from service.store.derived import is_held
from service.store.leases import Grant
from service.store.models.fleet import PoolRow
from service.store.models.trial import TrialRow


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
        state = recovery.take_back(
            session,
            grant,
            message=f"{owner} died while it held the trial",
            max_attempts=max_attempts,
            only_if=TrialRow.owner == owner,
        )
        num_taken += state is not None
    return num_taken
