"""From many changes of level to few findings, each with its likely cause.

A cause says where changes must appear, and where not: a roll-out on the nodes that got the new
version, code on one case everywhere, a node in all it runs, a link in the cases that communicate,
the method where the control moved on most nodes. Causes are tried in an order, the most specific
first; each takes the changes it explains from what is left, and what nothing explains is said to be
unexplained. So a change is in one finding, whatever came together.

A node without peers is judged by its control alone: what that shows too is the node's, or its
links' where only cases that communicate changed; what it does not show is the software's.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from service.analysis.findings.fleet import CaseKind, Fleet, Shift

SAME_TIME = 2
"""Nights that the changes of one event may lie apart: each is placed by its own noise."""
MOST = 0.5
"""Share of the places where a cause must show that must show it."""
FEW = 0.25
"""Largest share of the places where it must not, that may."""
FEWEST_TOGETHER = 2


class Cause(StrEnum):
    """Whose fault it seems to be."""

    METHOD = "method"
    """The control moved too, on most nodes: how we measure changed."""
    ROLL_OUT = "roll_out"
    CODE = "code"
    NODE = "node"
    LINK = "link"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Finding:
    """Changes that one event explains."""

    cause: Cause
    night: int
    """The first of them."""
    nodes: tuple[str, ...]
    cases: tuple[str, ...]
    effect_relative: float
    """Median over the changes."""
    shifts: tuple[Shift, ...]
    covariate: str | None = None
    """Of a roll-out: its name and new value; of several that came together, all of them."""


def classify(shifts: Iterable[Shift], fleet: Fleet) -> tuple[Finding, ...]:
    """Explain every change of level, in order of night."""
    left = dict.fromkeys(shifts)
    found: list[Finding] = []
    is_alone = len(fleet.nodes) == 1
    among_peers = (_method, _rollouts, _code, _nodes, _links, _rest)
    for explain in (_rollouts, _alone) if is_alone else among_peers:
        for event in explain(tuple(left), fleet):
            own = [shift for shift in event.shifts if shift in left]
            if own:
                found.append(_finding(event.cause, own, event.covariate))
            for shift in own:
                del left[shift]
    return tuple(sorted(found, key=lambda finding: (finding.night, finding.cause)))


def of_nodes(
    shifts: Iterable[Shift], *, together: Callable[[Shift], Hashable]
) -> tuple[Finding, ...]:
    """Put together what is a node's by its nature, by what the changes have in common."""
    events: dict[Hashable, list[Shift]] = defaultdict(list)
    for shift in shifts:
        events[together(shift)].append(shift)
    return tuple(_finding(Cause.NODE, event) for event in events.values())


@dataclass(frozen=True, slots=True)
class _Explained:
    """Changes that a cause explains, some of which another one may have taken before it."""

    cause: Cause
    shifts: Sequence[Shift]
    covariate: str | None = None


def _method(shifts: Sequence[Shift], fleet: Fleet) -> Iterator[_Explained]:
    controls = fleet.of_kind(CaseKind.CONTROL)
    for event in _events(shift for shift in shifts if shift.case in controls):
        nodes = {shift.node for shift in event}
        if _is_most(nodes, fleet.nodes):
            nights = {shift.night for shift in event}
            yield _Explained(Cause.METHOD, [s for s in shifts if _is_near(s.night, nights)])


def _rollouts(shifts: Sequence[Shift], fleet: Fleet) -> Iterator[_Explained]:
    """Versions that explain the same changes are one roll-out; the widest comes first."""
    nights_of: dict[str, dict[str, int]] = defaultdict(dict)
    for rollout in fleet.rollouts:
        nights_of[f"{rollout.covariate} {rollout.value}"][rollout.node] = rollout.night
    named: dict[tuple[Shift, ...], list[str]] = defaultdict(list)
    for covariate, nights in sorted(nights_of.items()):
        others = [node for node in fleet.nodes if node not in nights]
        by_case = ([s for s in shifts if s.case == case] for case in fleet.cases)
        event = [shift for own in by_case for shift in _of_rollout(own, nights, others)]
        named[tuple(event)].append(covariate)
    for shared, covariates in sorted(named.items(), key=lambda one: -len(one[0])):
        yield _Explained(Cause.ROLL_OUT, shared, ", ".join(covariates))


def _of_rollout(
    shifts: Sequence[Shift], nights: dict[str, int], others: Sequence[str]
) -> list[Shift]:
    """Changes of one case where the roll-out was, unless the case changed elsewhere as well."""
    there = [s for s in shifts if s.node in nights and _is_near(s.night, {nights[s.node]})]
    elsewhere = {s.node for s in shifts if s.node in others and _is_near(s.night, nights.values())}
    is_theirs = _is_most({s.node for s in there}, nights) and len(elsewhere) <= FEW * len(others)
    return there if is_theirs else []


def _code(shifts: Sequence[Shift], fleet: Fleet) -> Iterator[_Explained]:
    """Cases that changed everywhere; those that did so together are one finding."""
    everywhere: list[Shift] = []
    for case in fleet.cases:
        for event in _events(shift for shift in shifts if shift.case == case):
            nodes = {shift.node for shift in event}
            if len(nodes) >= FEWEST_TOGETHER and _is_most(nodes, fleet.nodes):
                everywhere += event
    for event in _events(everywhere):
        yield _Explained(Cause.CODE, event)


def _nodes(shifts: Sequence[Shift], fleet: Fleet) -> Iterator[_Explained]:
    local = [case for case, kind in fleet.cases.items() if kind != CaseKind.COMMUNICATION]
    for node in fleet.nodes:
        for event in _events(shift for shift in shifts if shift.node == node):
            cases = {shift.case for shift in event}
            if len(cases) >= FEWEST_TOGETHER and _is_most(cases & {*local}, local):
                yield _Explained(Cause.NODE, event)


def _links(shifts: Sequence[Shift], fleet: Fleet) -> Iterator[_Explained]:
    communicating = fleet.of_kind(CaseKind.COMMUNICATION)
    for node in fleet.nodes:
        for event in _events(s for s in shifts if s.node == node and s.case in communicating):
            if _is_most({shift.case for shift in event}, communicating):
                yield _Explained(Cause.LINK, event)


def _alone(shifts: Sequence[Shift], fleet: Fleet) -> Iterator[_Explained]:
    controls = fleet.of_kind(CaseKind.CONTROL)
    communicating = fleet.of_kind(CaseKind.COMMUNICATION)
    for event in _events(shifts):
        cases = {shift.case for shift in event}
        hosts = [shift for shift in event if shift.is_the_hosts]
        if not cases & controls and 2 * len(hosts) <= len(event):
            yield _Explained(Cause.CODE, event)
        else:
            yield _Explained(Cause.LINK if cases <= communicating else Cause.NODE, event)


def _rest(shifts: Sequence[Shift], fleet: Fleet) -> Iterator[_Explained]:
    del fleet
    for shift in shifts:
        yield _Explained(Cause.UNEXPLAINED, [shift])


def _events(shifts: Iterable[Shift]) -> Iterator[list[Shift]]:
    """Changes in one direction whose nights follow each other closely."""
    by_time = sorted(shifts, key=lambda shift: (shift.effect_relative < 0, shift.night))
    event: list[Shift] = []
    for shift in by_time:
        if event and not _belongs(shift, event[-1]):
            yield event
            event = []
        event.append(shift)
    if event:
        yield event


def _belongs(shift: Shift, last: Shift) -> bool:
    same_direction = (shift.effect_relative < 0) == (last.effect_relative < 0)
    return same_direction and _is_near(shift.night, {last.night})


def _is_near(night: int, nights: Iterable[int]) -> bool:
    return any(abs(night - other) <= SAME_TIME for other in nights)


def _is_most(found: Iterable[str], of: Iterable[str]) -> bool:
    expected = set(of)
    return bool(expected) and len({*found} & expected) > MOST * len(expected)


def _finding(cause: Cause, event: Sequence[Shift], covariate: str | None = None) -> Finding:
    return Finding(
        cause=cause,
        night=min(shift.night for shift in event),
        nodes=tuple(sorted({shift.node for shift in event})),
        cases=tuple(sorted({shift.case for shift in event})),
        effect_relative=median(shift.effect_relative for shift in event),
        shifts=tuple(sorted(event, key=lambda shift: (shift.node, shift.case, shift.night))),
        covariate=covariate,
    )
