"""Each node's standing, night by night: against its peers, or its own past where it has too few."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from service.analysis.changepoints.robust import Values
from service.analysis.control import ControlSummary, NoiseGrade, noise
from service.analysis.findings.absence import absences
from service.analysis.findings.fleet import CaseKind
from service.analysis.findings.history import History, Reading
from service.analysis.findings.scores import (
    FEWEST_PEERS,
    Scores,
    past_residuals,
    past_scores,
    residuals,
    scores,
    unsteadiness,
)
from service.analysis.findings.times import times_of


class Basis(StrEnum):
    """What nodes are held against."""

    PEERS = "peers"
    OWN_PAST = "own_past"


@dataclass(frozen=True, slots=True)
class NodeStanding:
    """One node; a value for each night, None where nothing can be said."""

    node: str
    score: tuple[float | None, ...]
    """0.05 is about 5 % slower: median over cases."""
    z: tuple[float | None, ...]
    """The same in robust standard deviations."""
    stands_out: tuple[bool, ...]
    link_score: tuple[float | None, ...]
    """The score over cases that communicate."""
    link_stands_out: tuple[bool, ...]
    noise_grade: tuple[NoiseGrade | None, ...]
    """Of the controls that took turns with its points."""
    is_flaky: bool
    missing_since: int | None
    """The first of the newest nights that it has no result on."""


@dataclass(frozen=True, slots=True)
class Standings:
    """All nodes of one hardware that measure regularly."""

    basis: Basis
    nodes: tuple[NodeStanding, ...]


def standings(history: History, readings: Sequence[Reading]) -> Standings:
    """Judge the nodes. Those that measure now and then only have no standing of their own."""
    times, kinds = times_of(history), history.fleet.cases
    links = [i for i, case in enumerate(times.cases) if kinds[case] is CaseKind.COMMUNICATION]
    is_among_peers = len(times.nodes) >= FEWEST_PEERS
    left = residuals(times.us) if is_among_peers else past_residuals(times.us)
    score = scores if is_among_peers else past_scores
    of_node, of_links = score(left, range(len(times.cases))), score(left, links)
    grades = _grades(readings)
    is_flaky, absent = unsteadiness(left).is_flaky(), absences(times.us)
    return Standings(
        basis=Basis.PEERS if is_among_peers else Basis.OWN_PAST,
        nodes=tuple(
            NodeStanding(
                node=name,
                score=_numbers(of_node.effect[i]),
                z=_numbers(of_node.z[i]),
                stands_out=_outstanding(of_node, i),
                link_score=_numbers(of_links.effect[i]),
                link_stands_out=_outstanding(of_links, i),
                noise_grade=tuple(grades.get((name, t)) for t in range(history.num_nights)),
                is_flaky=bool(is_flaky[i]),
                missing_since=None if gone is None else gone.since,
            )
            for i, (name, gone) in enumerate(zip(times.nodes, absent, strict=True))
        ),
    )


def _grades(readings: Sequence[Reading]) -> Mapping[tuple[str, int], NoiseGrade]:
    """Of each node and night: the worst of its cases."""
    controls: dict[tuple[str, int], dict[str, list[ControlSummary]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in readings:
        if one.control is not None:
            controls[one.node, one.night][one.case].append(one.control)
    return {
        place: max(noise(of_case).grade for of_case in of.values())
        for place, of in controls.items()
    }


def _numbers(values: Values) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)


def _outstanding(of: Scores, node: int) -> tuple[bool, ...]:
    return tuple(of.stands_out()[node].tolist())
