"""A finding as it is shown."""

from datetime import datetime
from typing import Self

from pydantic import Field, JsonValue

from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import Evidence, FindingKind, Measure
from service.analysis.findings.states import Dismissal, FindingState
from service.reports.covariates import Difference
from service.store.findings import FindingChange
from workers.contract.frozen import Frozen
from workers.contract.hardware import Hardware


class CaseReport(Frozen):
    """One of the cases that changed."""

    spec_key: str = Field(description="Or the name of a control, which is a case of its own.")
    label: str


class NightReport(Frozen):
    """A night of the schedule."""

    sweep_id: str
    at: datetime


class MemberReport(Frozen):
    """One series that shows it."""

    node: str
    case: str
    measure: Measure
    is_confirmed: bool
    effect_relative: float | None
    normalised_effect: float | None
    p: float | None = Field(
        description="Two-sided, corrected for the search; of a flaky or missing node the chance of "
        "it, were it as its peers or as it was; null of a suspect."
    )
    z: float | None = Field(description="Of a suspect: how far the newest night is off.")
    before_us: float | None = Field(description="Level; of a flaky node on its usual nights.")
    after_us: float | None = Field(description="Level; of a flaky node on its wild nights.")
    num_before: int | None = Field(description="Nights that it was judged by.")
    num_after: int | None = Field(description="Of a missing node the nights without it.")

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        """Publish what a series showed."""
        is_missing = evidence.kind is FindingKind.MISSING
        return cls(
            node=evidence.shift.node,
            case=evidence.shift.case,
            measure=evidence.measure,
            is_confirmed=evidence.is_confirmed,
            effect_relative=None if is_missing else evidence.shift.effect_relative,
            normalised_effect=evidence.shift.normalised_effect,
            p=evidence.p,
            z=evidence.z,
            before_us=evidence.before,
            after_us=evidence.after,
            num_before=evidence.num_before,
            num_after=evidence.num_after,
        )


class FindingChangeReport(Frozen):
    """One change of its state."""

    state: FindingState
    reason: str
    changed_by: str
    changed_at: datetime

    @classmethod
    def of(cls, change: FindingChange) -> Self:
        """Publish what the row tells."""
        return cls(
            state=change.state,
            reason=change.reason,
            changed_by=change.changed_by,
            changed_at=change.changed_at,
        )


class FindingReport(Frozen):
    """Changes of series that one event explains."""

    id: str
    policy: str = Field(description="Name of the schedule whose nights show it.")
    kind: FindingKind
    cause: Cause
    state: FindingState
    dismissal: Dismissal | None
    sentence: str
    hardware_key: str
    hardware: Hardware | None
    nodes: tuple[str, ...]
    cases: tuple[CaseReport, ...]
    effect_relative: float | None = Field(
        description="Median over series; above 0 is slower, or noisier; of a flaky node on its "
        "wild nights; null of a missing one."
    )
    normalised_effect: float | None = Field(
        description="What is left once the host's slowness is divided out; null without a control."
    )
    covariate: str | None = Field(description="Of a roll-out: what took which new values.")
    num_series: int
    num_confirmed: int
    smallest_p: float | None
    night: NightReport = Field(description="The first with the new level.")
    last_good: NightReport | None
    judged: NightReport = Field(description="The newest night that shows it.")
    reproduce: str = Field(description="A command that measures the most affected case anew.")
    detector: str
    detector_version: int
    grouping_version: int
    inputs_hash: str = Field(description="Of the series, detector and parameters that it rests on.")
    created_at: datetime
    confirmed_at: datetime | None
    changed_at: datetime


class FindingDetail(FindingReport):
    """A finding with all that is known about it."""

    parameters: dict[str, JsonValue] = Field(description="Of the detector.")
    members: tuple[MemberReport, ...]
    differences: tuple[Difference, ...] = Field(
        description="Everything that differs between the last good night and the first bad one."
    )
    changes: tuple[FindingChangeReport, ...]
