from datetime import datetime

from sqlalchemy import String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import Row
from service.store.columns import Document, UtcDateTime, choice
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, NAME, WORD


class CurveRow(Rows):
    """Times of one collective over message sizes; the same content is kept once."""

    __tablename__ = "curves"
    __table_args__ = (UniqueConstraint("hardware", "content_sha256"),)

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    hardware: Mapped[str] = mapped_column(String(NAME))
    content_sha256: Mapped[str] = mapped_column(String(64))
    operation: Mapped[Operation] = mapped_column(choice(Operation, name="operation"))
    dtype: Mapped[str] = mapped_column(String(WORD))
    num_ranks: Mapped[int]
    num_nodes: Mapped[int | None]
    accelerator: Mapped[str] = mapped_column(String(NAME))
    rows: Mapped[tuple[Row, ...]] = mapped_column(Document(tuple[Row, ...]))
    source: Mapped[str] = mapped_column(String(NAME))
    imported_by: Mapped[str] = mapped_column(String(NAME))
    imported_at: Mapped[datetime] = mapped_column(UtcDateTime)
