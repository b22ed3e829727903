"""What keys stand for: a key is a hash of the facts, so any row that has it will do."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from workers.contract.hardware import Hardware
from workers.contract.probe import Measurable


def spec(session: Session, spec_key: str) -> Measurable | None:
    """Of the newest point with this key, which may have been called something else before."""
    chosen = select(PointRow.spec).where(PointRow.spec_key == spec_key)
    return session.scalar(chosen.order_by(PointRow.id.desc()).limit(1))


def hardware(session: Session, hardware_key: str) -> Hardware | None:
    """None for hardware that no dispatcher has shown."""
    return session.scalar(select(HardwareRow.facts).where(HardwareRow.hardware_key == hardware_key))
