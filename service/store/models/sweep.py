from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import BigInteger, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import Document, UtcDateTime, choice
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, KEY, NAME
from workers.contract.axes import GroupKind
from workers.contract.calibration import AnySweepSpec
from workers.contract.sweep import Sampling


class SweepRow(Rows):
    """What was asked, and what every claim needs to know of it."""

    __tablename__ = "sweeps"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME))
    spec: Mapped[AnySweepSpec] = mapped_column(Document(TypeAdapter[AnySweepSpec](AnySweepSpec)))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    created_by: Mapped[str] = mapped_column(String(NAME))
    priority: Mapped[int]
    seed: Mapped[int] = mapped_column(BigInteger)
    """Of the random orders, the weights and the inputs."""
    sampling: Mapped[Sampling] = mapped_column(Document(Sampling))
    group_kind: Mapped[GroupKind] = mapped_column(choice(GroupKind, name="group_kind"))
    num_replicates: Mapped[int]
    profile: Mapped[bool]
    """Whether first replicates are profiled."""
    num_devices: Mapped[int]
    """Largest tp_degree of its points."""
    degrees: Mapped[tuple[int, ...]] = mapped_column(Document(tuple[int, ...]))
    accelerator_pattern: Mapped[str | None] = mapped_column(String(3 * NAME))
    """LIKE pattern in lower case over the offered accelerator; any where NULL."""
    hardware_key: Mapped[str | None] = mapped_column(String(KEY))
    """What the first claim bound it to."""
    num_points: Mapped[int]
    num_rejected: Mapped[int]
    last_event_seq: Mapped[int] = mapped_column(default=0)
    cancel_requested_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """NULL while any trial is queued or held."""

    __table_args__ = (
        Index(None, "created_at", "id"),
        Index(
            "ix_sweeps_open",
            "priority",
            "created_at",
            sqlite_where=text("finished_at IS NULL"),
            postgresql_where=text("finished_at IS NULL"),
        ),
    )


class SweepTagRow(Rows):
    """One tag of a sweep, so that lists can be filtered by it."""

    __tablename__ = "sweep_tags"

    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    value: Mapped[str] = mapped_column(String(NAME))

    __table_args__ = (Index(None, "key", "value", "sweep_id"),)


class ReplicateRow(Rows):
    """One pass over a sweep's points, in one worker group at a time."""

    __tablename__ = "replicates"

    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class IdempotencyKeyRow(Rows):
    """A request that made a sweep; written before the sweep, so its reference is checked last."""

    __tablename__ = "idempotency_keys"

    principal: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    key: Mapped[str] = mapped_column(String(NAME), primary_key=True)
    body_hash: Mapped[str] = mapped_column(String(64))
    sweep_id: Mapped[str] = mapped_column(
        ForeignKey("sweeps.id", deferrable=True, initially="DEFERRED")
    )
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
