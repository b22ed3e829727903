from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import Evidence, FindingKind
from service.analysis.findings.nightly import JudgedBy
from service.analysis.findings.states import Dismissal, FindingState
from service.store.columns import AnyText, Document, UtcDateTime, choice
from service.store.models.declarative import Rows
from service.store.models.lengths import ID, KEY, NAME


class JudgementRow(Rows):
    """That a sweep of a schedule was judged, once, and what that came to."""

    __tablename__ = "judgements"

    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"), primary_key=True)
    policy: Mapped[str] = mapped_column(String(NAME))
    """Name of the schedule."""
    detector_version: Mapped[int]
    judged_at: Mapped[datetime] = mapped_column(UtcDateTime)
    num_nights: Mapped[int]
    num_series: Mapped[int]
    num_suspects: Mapped[int]
    """Findings that began as suspects."""
    num_confirmed: Mapped[int]
    """Findings that it confirmed."""

    __table_args__ = (Index(None, "policy", "judged_at"),)


class FindingRow(Rows):
    """Changes of series that one event explains."""

    __tablename__ = "findings"

    id: Mapped[str] = mapped_column(String(ID), primary_key=True)
    policy: Mapped[str] = mapped_column(String(NAME))
    hardware_key: Mapped[str] = mapped_column(String(KEY))
    kind: Mapped[FindingKind] = mapped_column(choice(FindingKind, name="kind"))
    cause: Mapped[Cause] = mapped_column(choice(Cause, name="cause"))
    state: Mapped[FindingState] = mapped_column(choice(FindingState, name="state"))
    dismissal: Mapped[Dismissal | None] = mapped_column(choice(Dismissal, name="dismissal"))
    night_sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"))
    """The first night with the new level."""
    last_good_sweep_id: Mapped[str | None] = mapped_column(ForeignKey("sweeps.id"))
    judged_sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"))
    """The newest night that it was seen on."""
    nodes: Mapped[tuple[str, ...]] = mapped_column(Document(tuple[str, ...]))
    cases: Mapped[tuple[str, ...]] = mapped_column(Document(tuple[str, ...]))
    effect_relative: Mapped[float]
    normalised_effect: Mapped[float | None]
    covariate: Mapped[str | None] = mapped_column(AnyText)
    members: Mapped[tuple[Evidence, ...]] = mapped_column(Document(tuple[Evidence, ...]))
    judged_by: Mapped[JudgedBy] = mapped_column(Document(JudgedBy))
    inputs_hash: Mapped[str] = mapped_column(String(KEY))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    confirmed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)

    __table_args__ = (Index(None, "policy", "hardware_key"), Index(None, "state", "id"))


class FindingChangeRow(Rows):
    """One change of a finding's state, and why; never changed."""

    __tablename__ = "finding_changes"

    finding_id: Mapped[str] = mapped_column(ForeignKey("findings.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[FindingState] = mapped_column(choice(FindingState, name="state"))
    reason: Mapped[str] = mapped_column(AnyText)
    changed_by: Mapped[str] = mapped_column(String(NAME))
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
