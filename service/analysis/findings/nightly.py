"""One night's judgement of all series of one hardware: few findings, each with its likely cause."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import assert_never

from service.analysis.changepoints.parameters import DEFAULTS, DETECTOR_VERSION, Parameters
from service.analysis.findings.classify import Cause, Finding, classify, of_nodes
from service.analysis.findings.evidence import OF_A_NODE, Evidence, FindingKind, evidence_of
from service.analysis.findings.fleet import Fleet, Shift
from service.analysis.findings.history import CaseSeries, History
from service.analysis.findings.node_faults import node_faults

DETECTOR = "robust_segmentation"
GROUPING_VERSION = 3
"""Of how changes are grouped and classified; beside the detector's own."""


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """Who judged: kept with every finding."""

    detector: str = DETECTOR
    detector_version: int = DETECTOR_VERSION
    grouping_version: int = GROUPING_VERSION
    parameters: Parameters = DEFAULTS


@dataclass(frozen=True, slots=True)
class Group:
    """Changes that one event explains, as the newest night shows them."""

    kind: FindingKind
    cause: Cause
    night: int
    """The first with the new level."""
    nodes: tuple[str, ...]
    cases: tuple[str, ...]
    effect_relative: float
    """Median over the changes; above 0 is slower, or noisier."""
    normalised_effect: float | None
    """The same of the control-normalised series, where there are any."""
    covariate: str | None
    members: tuple[Evidence, ...]
    inputs_hash: str
    """Of every series that it rests on, bit by bit, with the detector's version and parameters."""

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """Node and case of each member."""
        return frozenset((one.shift.node, one.shift.case) for one in self.members)

    @property
    def is_slower(self) -> bool:
        """Its direction."""
        return self.effect_relative > 0

    @property
    def is_confirmed(self) -> bool:
        """Whether at least one series confirms it."""
        return any(one.is_confirmed for one in self.members)

    @property
    def returned_night(self) -> int | None:
        """When most of it was back where it was before; None while it is not."""
        returned = [one.returned_night for one in self.members if one.returned_night is not None]
        return max(returned) if 2 * len(returned) > len(self.members) else None


@dataclass(frozen=True, slots=True)
class NightVerdict:
    """What the newest night shows."""

    groups: tuple[Group, ...]
    num_series: int

    @property
    def suspect_cases(self) -> frozenset[str]:
        """What to measure again."""
        return frozenset(
            one.shift.case
            for group in self.groups
            if group.kind is FindingKind.LEVEL
            for one in group.members
            if not one.is_confirmed
        )


def judge_night(history: History) -> NightVerdict:
    """Judge every series up to the newest night. Pure: the same history gives the same, bitwise."""
    evidence = [one for series in history.series for one in evidence_of(series)]
    evidence += node_faults(history)
    series = {(one.node, one.case): one for one in history.series}
    groups = [
        _group(kind, finding, found, series)
        for kind in FindingKind
        for found in [{one.shift: one for one in evidence if one.kind is kind}]
        for finding in _explained(kind, _in_order(found), history.fleet)
    ]
    ordered = sorted(groups, key=lambda one: (one.night, one.kind, one.cause, one.nodes, one.cases))
    return NightVerdict(groups=tuple(_explicable(ordered)), num_series=len(history.series))


def _explicable(groups: Sequence[Group]) -> Iterator[Group]:
    """Leave out what is unexplained of flaky nodes alone: that they are flaky explains it."""
    flaky = {node for one in groups if one.kind is FindingKind.FLAKY for node in one.nodes}
    for one in groups:
        if one.cause is not Cause.UNEXPLAINED or not flaky.issuperset(one.nodes):
            yield one


def _explained(kind: FindingKind, shifts: Sequence[Shift], fleet: Fleet) -> tuple[Finding, ...]:
    match kind:
        case FindingKind.LEVEL | FindingKind.DRIFT | FindingKind.DISPERSION:
            return classify(shifts, fleet)
        case FindingKind.FLAKY:
            return of_nodes(shifts, together=lambda shift: shift.node)
        case FindingKind.MISSING:
            return of_nodes(shifts, together=lambda shift: shift.night)
        case _:
            assert_never(kind)


def _in_order(shifts: Iterable[Shift]) -> list[Shift]:
    """By night and place, wherever they come from."""
    return sorted(shifts, key=lambda one: (one.night, one.node, one.case))


def _group(
    kind: FindingKind,
    finding: Finding,
    found: dict[Shift, Evidence],
    series: dict[tuple[str, str], CaseSeries],
) -> Group:
    members = tuple(found[shift] for shift in finding.shifts)
    left = [
        shift.normalised_effect for shift in finding.shifts if shift.normalised_effect is not None
    ]
    return Group(
        kind=kind,
        cause=finding.cause,
        night=finding.night,
        nodes=finding.nodes,
        cases=finding.cases,
        effect_relative=finding.effect_relative,
        normalised_effect=median(left) if left else None,
        covariate=finding.covariate,
        members=members,
        inputs_hash=_hash(_inputs(kind, finding, series)),
    )


def _inputs(
    kind: FindingKind, finding: Finding, series: dict[tuple[str, str], CaseSeries]
) -> Iterable[CaseSeries]:
    """What is told of a node rests on its peers as well."""
    if kind in OF_A_NODE:
        return [one for one in series.values() if one.case in finding.cases]
    return [series[shift.node, shift.case] for shift in finding.shifts]


def _hash(inputs: Iterable[CaseSeries]) -> str:
    """128 bits over the values; Python writes every float so that it reads back the same."""
    told = json.dumps([asdict(JudgedBy()), [asdict(one) for one in inputs]], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]
