"""What keys stand for: a key is a hash of the facts, so any row that has it will do."""

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from workers.contract.hardware import Hardware
from workers.contract.probe import Measurable


def spec(session: Session, spec_key: str) -> Measurable | None:
    """Of the newest point with this key, which may have been called something else before."""
    chosen = select(PointRow.spec).where(PointRow.spec_key == spec_key)
    return session.scalar(chosen.order_by(PointRow.id.desc()).limit(1))


def specs(session: Session, spec_keys: Collection[str]) -> dict[str, Measurable]:
    """Of those that are known, each as `spec` has it."""
    newest = (
        select(func.max(PointRow.id))
        .where(PointRow.spec_key.in_(spec_keys))
        .group_by(PointRow.spec_key)
    )
    rows = session.execute(select(PointRow.spec_key, PointRow.spec).where(PointRow.id.in_(newest)))
    return {key: spec for key, spec in rows}  # noqa: C416 - rows are not pairs to the type checker


def hardware(session: Session, hardware_key: str) -> Hardware | None:
    """None for hardware that no dispatcher has shown."""
    return session.scalar(select(HardwareRow.facts).where(HardwareRow.hardware_key == hardware_key))
