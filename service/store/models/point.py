from pydantic import TypeAdapter
from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import Document
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, KEY, NAME, WORD
from workers.contract.probe import Measurable
from workers.contract.sharding import Rejection

NUM_SPECS = 2000
"""That are read once: sweep after sweep and night after night measures the same."""


class PointRow(Rows):
    """One combination of axis values, or a probe; the columns repeat what lists filter by.

    A probe is of no model, block or phase: there they are empty, and 0.
    """

    __tablename__ = "points"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"))
    position: Mapped[int]
    spec: Mapped[Measurable] = mapped_column(
        Document(TypeAdapter[Measurable](Measurable), num_kept=NUM_SPECS)
    )
    spec_key: Mapped[str] = mapped_column(String(KEY))
    is_rejected: Mapped[bool]
    rejection: Mapped[Rejection | None] = mapped_column(Document(Rejection))
    """Why it has no trials."""
    paired_with: Mapped[str | None] = mapped_column(ForeignKey("points.id"))
    """Of the second point of a pair: the first, whose trials measure both."""

    kind: Mapped[str] = mapped_column(String(WORD))
    model: Mapped[str] = mapped_column(String(NAME))
    block: Mapped[str] = mapped_column(String(WORD))
    arrangement: Mapped[str] = mapped_column(String(WORD))
    phase: Mapped[str] = mapped_column(String(WORD))
    tp_degree: Mapped[int]
    batch: Mapped[int]
    seq: Mapped[int]
    dtype: Mapped[str] = mapped_column(String(WORD))
    collective_impl: Mapped[str] = mapped_column(String(WORD))
    overlap: Mapped[str] = mapped_column(String(WORD))
    launch: Mapped[str] = mapped_column(String(WORD))

    __table_args__ = (
        UniqueConstraint("sweep_id", "position"),
        Index(
            "uq_points_measured",
            "sweep_id",
            "spec_key",
            unique=True,
            sqlite_where=text("NOT is_rejected AND paired_with IS NULL"),
            postgresql_where=text("NOT is_rejected AND paired_with IS NULL"),
        ),
        Index(
            "ix_points_probes",
            "sweep_id",
            "position",
            sqlite_where=text("kind <> 'block'"),
            postgresql_where=text("kind <> 'block'"),
        ),
        Index(None, "spec_key"),
        Index(None, "model", "block", "phase", "tp_degree"),
        Index(None, "model", "phase", "kind", "spec_key"),
        Index(None, "block", "phase", "dtype", "sweep_id"),
        Index(None, "block", "phase", "dtype", "tp_degree", "collective_impl", "sweep_id"),
        Index(None, "tp_degree", "collective_impl", "sweep_id"),
    )
