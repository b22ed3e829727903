from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import UtcDateTime
from service.store.models.declarative import Rows
from service.store.models.lengths import NAME


class BaselineRow(Rows):
    """A sweep pinned under a name."""

    __tablename__ = "baselines"

    name: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"))
    note: Mapped[str] = mapped_column(String(NAME))
    pinned_at: Mapped[datetime] = mapped_column(UtcDateTime)
    pinned_by: Mapped[str] = mapped_column(String(NAME))
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
