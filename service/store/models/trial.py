from datetime import datetime

from sqlalchemy import ForeignKey, ForeignKeyConstraint, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from service.store.columns import AnyText, UtcDateTime, choice
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, NAME
from service.store.states import AttemptOutcome, TrialState
from workers.contract.axes import Kind

_QUEUED = text("state = 'queued'")
_HELD = text("state IN ('leased', 'running')")


class TrialRow(Rows):
    """One execution of a point, or of a pair of points, in one worker group: what is leased."""

    __tablename__ = "trials"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"))
    point_id: Mapped[str] = mapped_column(ForeignKey("points.id"))
    pair_point_id: Mapped[str | None] = mapped_column(ForeignKey("points.id"))
    """The other point, where two are interleaved."""
    kind: Mapped[Kind] = mapped_column(choice(Kind, name="kind"))
    replicate: Mapped[int]
    position: Mapped[int]
    """In the replicate's random order."""
    state: Mapped[TrialState] = mapped_column(choice(TrialState, name="state"))
    attempt: Mapped[int]
    """Grows with every grant: the fencing number."""
    num_charged: Mapped[int]
    """Attempts that count against the budget, the running one included."""
    owner: Mapped[str | None] = mapped_column(String(NAME))
    lease_expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    ready_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """Not to be claimed before."""
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)

    __table_args__ = (
        ForeignKeyConstraint(
            ["sweep_id", "replicate"], ["replicates.sweep_id", "replicates.number"]
        ),
        UniqueConstraint("sweep_id", "replicate", "position"),
        Index(None, "sweep_id", "state"),
        Index(None, "point_id", "state"),
        Index(
            "ix_trials_queued",
            "sweep_id",
            "replicate",
            "position",
            sqlite_where=_QUEUED,
            postgresql_where=_QUEUED,
        ),
        Index(
            "ix_trials_held",
            "sweep_id",
            "replicate",
            sqlite_where=_HELD,
            postgresql_where=_HELD,
        ),
    )


class AttemptRow(Rows):
    """One grant of a trial, and how it ended."""

    __tablename__ = "attempts"

    trial_id: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    owner: Mapped[str] = mapped_column(String(NAME))
    granted_at: Mapped[datetime] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    outcome: Mapped[AttemptOutcome | None] = mapped_column(choice(AttemptOutcome, name="outcome"))
    """NULL while it runs."""
    code: Mapped[str | None] = mapped_column(String(NAME))
    message: Mapped[str | None] = mapped_column(AnyText)
    rank: Mapped[int | None]
    signal: Mapped[int | None]
    node: Mapped[str | None] = mapped_column(String(NAME))
    log_tail: Mapped[str | None] = mapped_column(AnyText)
    is_final: Mapped[bool | None]
