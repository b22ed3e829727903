from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import Document, UtcDateTime
from service.store.models.declarative import Rows
from service.store.models.lengths import WORD


class EventRow(Rows):
    """Something that happened in a sweep; never changed."""

    __tablename__ = "events"

    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(WORD))
    data: Mapped[dict[str, JsonValue]] = mapped_column(Document(dict[str, JsonValue]))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
