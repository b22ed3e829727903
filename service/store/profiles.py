"""Traces of profiled trials: kept in the database, which is all that API and dispatcher share."""

from collections.abc import Sequence

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store.models.result import ProfileRow
from workers.contract.profile import Profile


def record(session: Session, trial_id: str, point_id: str, profile: Profile) -> None:
    """Store the profile of a result that was just recorded."""
    session.execute(
        insert(ProfileRow).values(
            trial_id=trial_id,
            point_id=point_id,
            collective_share=profile.collective_share,
            trace_gzip=profile.trace_gzip,
        )
    )


def find_trace(session: Session, trial_id: str) -> bytes:
    """Return the Chrome trace of a trial, gzip: of a pair, its first point's.

    NotFoundError where it was not profiled, or its trace was too large to keep.
    """
    trace = session.scalar(
        select(ProfileRow.trace_gzip)
        .where(ProfileRow.trial_id == trial_id)
        .order_by(ProfileRow.point_id)
        .limit(1)
    )
    if not trace:
        raise NotFoundError(
            f"there is no profile of trial {trial_id!r}; a sweep with profile: true has one of "
            "each point's first replicate"
        )
    return trace


def shares(session: Session, trial_ids: Sequence[str], *, point_id: str) -> dict[str, float]:
    """Collectives' share as the profiler saw it, by trial; without those that have none."""
    rows = session.execute(
        select(ProfileRow.trial_id, ProfileRow.collective_share).where(
            ProfileRow.trial_id.in_(trial_ids), ProfileRow.point_id == point_id
        )
    )
    return {row.trial_id: row.collective_share for row in rows if row.collective_share is not None}
