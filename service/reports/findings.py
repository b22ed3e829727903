"""Findings as they are shown: what, how sure, where, why, last good, and how to see it again."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self, assert_never

from sqlalchemy.orm import Session

from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import FindingKind
from service.reports.covariates import Difference, differences
from service.reports.finding import (
    CaseReport,
    FindingChangeReport,
    FindingDetail,
    FindingReport,
    MemberReport,
    NightReport,
)
from service.store import findings as stored
from service.store import fingerprints, fleet, history
from service.store.findings import FindingFilter, StoredFinding
from service.store.pages import Page
from service.store.result_filter import ResultFilter
from service.store.timed import timed
from workers.contract.hardware import Hardware
from workers.contract.point import PointSpec
from workers.contract.probe import Measurable

SAID = {
    Cause.METHOD: "the way of measuring: the control moved too, on most nodes",
    Cause.ROLL_OUT: "the roll-out of",
    Cause.CODE: "the software: it changed on all nodes, or the control does not show it",
    Cause.NODE: "the node: it changed in most of what it runs, or its control shows it too",
    Cause.LINK: "a link of the node: only what communicates changed",
    Cause.UNEXPLAINED: "not known: too few series changed to tell",
}
SAID_OF_A_NODE = {
    FindingKind.FLAKY: "the node: its peers are steady",
    FindingKind.MISSING: "the node: its peers were measured",
}
MOST_NAMED = 3


def page(
    session: Session, which: FindingFilter, *, limit: int, cursor: str | None = None
) -> Page[FindingReport]:
    """Newest first."""
    found = stored.page(session, which, limit=limit, cursor=cursor)
    known = _Known.about(session, found.items)
    return Page(tuple(_report(one, known) for one in found.items), found.next_cursor)


def find(session: Session, finding_id: str) -> FindingDetail:
    """With all details. NotFoundError if there is none."""
    finding = stored.find(session, finding_id)
    shown = _report(finding, _Known.about(session, [finding]))
    judged_by = finding.judged_by.parameters
    return FindingDetail(
        **dict(shown),
        parameters={name: getattr(judged_by, name) for name in judged_by.__slots__},
        members=tuple(map(MemberReport.of, finding.members)),
        differences=_differences(session, finding),
        changes=tuple(map(FindingChangeReport.of, stored.changes(session, finding_id))),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """What findings refer to, read at once for all of them."""

    specs: dict[str, Measurable]
    hardware: dict[str, Hardware]
    times: dict[str, datetime]

    @classmethod
    def about(cls, session: Session, findings: Sequence[StoredFinding]) -> Self:
        sweeps = {
            sweep_id
            for one in findings
            for sweep_id in (one.night_sweep_id, one.last_good_sweep_id, one.judged_sweep_id)
            if sweep_id is not None
        }
        return cls(
            specs=fingerprints.specs(session, {key for one in findings for key in one.cases}),
            hardware=fleet.hardware(session),
            times=history.times(session, sweeps),
        )

    def night(self, sweep_id: str) -> NightReport:
        return NightReport(sweep_id=sweep_id, at=self.times[sweep_id])


def _report(finding: StoredFinding, known: _Known) -> FindingReport:
    hardware, good = known.hardware.get(finding.hardware_key), finding.last_good_sweep_id
    cases = tuple(
        CaseReport(spec_key=key, label=_label(key, known.specs.get(key))) for key in finding.cases
    )
    p = [one.p for one in finding.members if one.p is not None]
    return FindingReport(
        id=finding.id,
        policy=finding.policy,
        kind=finding.kind,
        cause=finding.cause,
        state=finding.state,
        dismissal=finding.dismissal,
        sentence=_sentence(finding, cases),
        hardware_key=finding.hardware_key,
        hardware=hardware,
        nodes=finding.nodes,
        cases=cases,
        effect_relative=None if finding.kind is FindingKind.MISSING else finding.effect_relative,
        normalised_effect=finding.normalised_effect,
        covariate=finding.covariate,
        num_series=len(finding.members),
        num_confirmed=sum(one.is_confirmed for one in finding.members),
        smallest_p=min(p, default=None),
        night=known.night(finding.night_sweep_id),
        last_good=None if good is None else known.night(good),
        judged=known.night(finding.judged_sweep_id),
        reproduce=_reproduce(finding, known.specs, hardware),
        detector=finding.judged_by.detector,
        detector_version=finding.judged_by.detector_version,
        grouping_version=finding.judged_by.grouping_version,
        inputs_hash=finding.inputs_hash,
        created_at=finding.created_at,
        confirmed_at=finding.confirmed_at,
        changed_at=finding.changed_at,
    )


def _sentence(finding: StoredFinding, cases: tuple[CaseReport, ...]) -> str:
    labels = _some([case.label for case in cases], "cases")
    nodes = _some(list(finding.nodes), "nodes")
    likely = SAID_OF_A_NODE.get(finding.kind, SAID[finding.cause])
    likely += f" {finding.covariate}" if finding.covariate else ""
    confirmed = sum(one.is_confirmed for one in finding.members)
    sure = f"{confirmed} of {len(finding.members)} series confirm it"
    return f"{labels} {_what(finding)} on {nodes}; {sure}; likely cause: {likely}"


def _what(finding: StoredFinding) -> str:
    effect = finding.effect_relative
    match finding.kind:
        case FindingKind.LEVEL:
            return f"{abs(effect):.1%} {'slower' if effect > 0 else 'faster'}"
        case FindingKind.DRIFT:
            return f"drifting to {abs(effect):.1%} {'slower' if effect > 0 else 'faster'}"
        case FindingKind.DISPERSION:
            return f"scattering {1 + effect:.2g} times as much"
        case FindingKind.FLAKY:
            return f"flaky, {effect:.1%} slower now and then,"
        case FindingKind.MISSING:
            return "missing"
        case _:
            assert_never(finding.kind)


def _some(names: list[str], several: str) -> str:
    """Name a few, count the rest."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more {several}"


def _label(key: str, spec: Measurable | None) -> str:
    if not isinstance(spec, PointSpec):
        return key
    model = spec.model.name or f"hidden {spec.model.hidden_size}"
    extent = f"batch {spec.batch}" + (f" seq {spec.seq}" if spec.seq != 1 else "")
    return f"{model} {spec.block} {spec.phase} tp {spec.tp_degree} {extent}"


def _differences(session: Session, finding: StoredFinding) -> tuple[Difference, ...]:
    if finding.last_good_sweep_id is None:
        return ()
    before, after = (
        timed(session, ResultFilter(sweep_ids=(sweep_id,)))
        for sweep_id in (finding.last_good_sweep_id, finding.night_sweep_id)
    )
    return differences(before, after)


def _reproduce(
    finding: StoredFinding, specs: dict[str, Measurable], hardware: Hardware | None
) -> str:
    """Submit the case that changed most; of a control alone, or a node that is gone, all of it."""
    if finding.kind is FindingKind.MISSING:
        return f"tpsweep schedule run {shlex.quote(finding.policy)}"
    by_effect = sorted(finding.members, key=lambda one: -abs(one.shift.effect_relative))
    spec = next((found for one in by_effect if (found := specs.get(one.shift.case))), None)
    if not isinstance(spec, PointSpec):
        return f"tpsweep schedule run {shlex.quote(finding.policy)}"
    axes = spec.model_dump(mode="json", exclude_defaults=True, exclude={"kind"})
    asked = {**axes, "replicates": 5}
    asked["models"], asked["blocks"] = asked.pop("model"), asked.pop("block")
    if hardware is not None:
        asked["where"] = {"accelerator": hardware.accelerator}
    return f"echo {shlex.quote(json.dumps(asked))} | tpsweep submit - --wait"
