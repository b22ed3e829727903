from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import AnyText, UtcDateTime
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, KEY, WORD


class PredictionRow(Rows):
    """What was predicted of a point's step before it ran; never changed."""

    __tablename__ = "predictions"

    point_id: Mapped[str] = mapped_column(String(ID), ForeignKey("points.id"), primary_key=True)
    hardware_key: Mapped[str] = mapped_column(String(KEY))
    basis: Mapped[str] = mapped_column(String(WORD))
    time_us: Mapped[float]
    low_us: Mapped[float | None]
    high_us: Mapped[float | None]
    calibration: Mapped[str] = mapped_column(AnyText)
    known_until: Mapped[datetime] = mapped_column(UtcDateTime)
    """Only what had been measured by then was used: when the sweep was created."""
    made_at: Mapped[datetime] = mapped_column(UtcDateTime)
