"""The series of a history as one array."""

from dataclasses import dataclass

import numpy as np

from service.analysis.changepoints.robust import Values
from service.analysis.findings.fleet import CaseKind
from service.analysis.findings.history import SEVERAL_NODES, History


@dataclass(frozen=True, slots=True)
class Times:
    """Raw times of the nodes that measure regularly, without their controls."""

    nodes: tuple[str, ...]
    cases: tuple[str, ...]
    us: Values
    """Nodes by cases by nights; NaN where there is none."""


def times_of(history: History) -> Times:
    """Arrange the raw series."""
    nodes = tuple(node for node in history.fleet.nodes if node != SEVERAL_NODES)
    kinds = history.fleet.cases
    cases = tuple(case for case, kind in kinds.items() if kind is not CaseKind.CONTROL)
    raw = {(one.node, one.case): one.raw for one in history.series}
    none = (None,) * history.num_nights
    rows = [[raw.get((node, case), none) for case in cases] for node in nodes]
    shape = (len(nodes), len(cases), history.num_nights)
    return Times(nodes, cases, np.array(rows, dtype=np.float64).reshape(shape))
