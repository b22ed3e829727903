from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from service.analysis.comparison import Verdict
from service.analysis.schedules.decide import Action
from service.analysis.schedules.spec import CatchUp, Overlap
from service.store.columns import AnyText, Document, UtcDateTime, choice
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, NAME
from workers.contract.sweep import SweepSpec


class ScheduleRow(Rows):
    """A sweep that is measured again and again."""

    __tablename__ = "schedules"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME), unique=True)
    cron: Mapped[str] = mapped_column(String(NAME))
    zone: Mapped[str] = mapped_column(String(NAME))
    sweep: Mapped[SweepSpec] = mapped_column(Document(SweepSpec))
    baseline: Mapped[str | None] = mapped_column(String(NAME))
    catch_up: Mapped[CatchUp] = mapped_column(choice(CatchUp, name="catch_up"))
    most_catch_ups: Mapped[int]
    overlap: Mapped[Overlap] = mapped_column(choice(Overlap, name="overlap"))
    jitter_s: Mapped[int]
    aa_control: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    created_by: Mapped[str] = mapped_column(String(NAME))
    decided_until: Mapped[datetime] = mapped_column(UtcDateTime)
    """Every time the expression names up to here has its decision."""
    next_start_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    paused_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    paused_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    pause_reason: Mapped[str] = mapped_column(String(NAME))

    __table_args__ = (Index(None, "next_start_at"),)


class ScheduleDecisionRow(Rows):
    """What became of one time that a schedule named; never changed, so nothing starts twice."""

    __tablename__ = "schedule_decisions"

    schedule_id: Mapped[str] = mapped_column(ForeignKey("schedules.id"), primary_key=True)
    scheduled_for: Mapped[datetime] = mapped_column(UtcDateTime, primary_key=True)
    decided_at: Mapped[datetime] = mapped_column(UtcDateTime)
    action: Mapped[Action] = mapped_column(choice(Action, name="action"))
    reason: Mapped[str] = mapped_column(AnyText)
    sweep_id: Mapped[str | None] = mapped_column(ForeignKey("sweeps.id"))


class ScheduleComparisonRow(Rows):
    """A sweep that a schedule started, held against the schedule's baseline once it was over."""

    __tablename__ = "schedule_comparisons"

    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"), primary_key=True)
    schedule_id: Mapped[str] = mapped_column(ForeignKey("schedules.id"))
    baseline: Mapped[str] = mapped_column(String(NAME))
    """Its name then."""
    baseline_sweep_id: Mapped[str | None] = mapped_column(ForeignKey("sweeps.id"))
    """NULL where the baseline could not be used."""
    verdict: Mapped[Verdict | None] = mapped_column(choice(Verdict, name="verdict"))
    """NULL where nothing could be compared; the sentence says why."""
    ratio: Mapped[float | None]
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    num_points: Mapped[int]
    num_slower: Mapped[int]
    num_faster: Mapped[int]
    sentence: Mapped[str] = mapped_column(AnyText)
    compared_at: Mapped[datetime] = mapped_column(UtcDateTime)

    __table_args__ = (Index(None, "schedule_id", "sweep_id"),)
