"""Tags of sweeps: which there are, and what some sweeps have."""

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.store.models.sweep import SweepTagRow

MOST_SHOWN = 10


def keys(session: Session) -> list[str]:
    """Some keys that sweeps have, by name."""
    chosen = select(SweepTagRow.key).distinct().order_by(SweepTagRow.key).limit(MOST_SHOWN)
    return list(session.scalars(chosen))


def values(session: Session, key: str) -> list[str]:
    """Some values of a key, those of the newest sweeps first."""
    chosen = (
        select(SweepTagRow.value)
        .where(SweepTagRow.key == key)
        .group_by(SweepTagRow.value)
        .order_by(func.max(SweepTagRow.sweep_id).desc())
        .limit(MOST_SHOWN)
    )
    return list(session.scalars(chosen))


def exists(session: Session, key: str, value: str) -> bool:
    """Whether any sweep has it."""
    same = select(SweepTagRow.sweep_id).where(SweepTagRow.key == key, SweepTagRow.value == value)
    return session.scalar(same.limit(1)) is not None


def of_sweeps(session: Session, key: str, sweep_ids: Collection[str]) -> dict[str, str]:
    """What those of the sweeps that have the key have under it."""
    chosen = select(SweepTagRow.sweep_id, SweepTagRow.value).where(
        SweepTagRow.key == key, SweepTagRow.sweep_id.in_(sweep_ids)
    )
    return {sweep_id: value for sweep_id, value in session.execute(chosen)}  # noqa: C416 - rows are not pairs to the type checker
