"""24 nodes, 10 cases, 60 nights, and six things that go wrong."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.analysis.findings.fleet import CaseKind, Fleet, Rollout
from service.analysis.findings.history import CaseSeries, History

Values = NDArray[np.float64]

NODES = tuple(f"host{i:02d}" for i in range(24))
CASES = {
    "control": CaseKind.CONTROL,
    **{f"mlp-{i}": CaseKind.COMPUTE for i in range(6)},
    **{f"all-reduce-{i}": CaseKind.COMMUNICATION for i in range(3)},
}
NIGHTS = 60
SLOW, BAD_LINK, FLAKY, MISSING = "host05", "host11", "host17", "host20"
SLOW_FROM, LINK_FROM, CODE_FROM, MISSING_FROM = 30, 36, 22, 50
CODE_CASE = "mlp-3"
UPDATED = NODES[12:]
UPDATED_FROM = 42
CHANGED_BY_DRIVER = ("mlp-0", "mlp-1", "mlp-2", "mlp-4", "mlp-5", "all-reduce-0", "all-reduce-1")


@dataclass(frozen=True)
class Planted:
    """The fleet's times (nodes by cases by nights, microseconds), and what is known about it."""

    times: Values
    fleet: Fleet


def planted(seed: int) -> Planted:
    """A fleet with a fault of each kind; noise of 1 % for each result."""
    rng = np.random.default_rng(seed)
    shape = (len(NODES), len(CASES), NIGHTS)
    times = 100 * (1 + 0.01 * rng.standard_normal(shape)) * (1 + np.arange(10))[None, :, None]
    node, case = NODES.index, list(CASES).index
    times[node(SLOW), :, SLOW_FROM:] *= 1.06
    for i in range(3):
        times[node(BAD_LINK), case(f"all-reduce-{i}"), LINK_FROM:] *= 1.08
    times[:, case(CODE_CASE), CODE_FROM:] *= 1.04
    for name in CHANGED_BY_DRIVER:
        times[node(UPDATED[0]) :, case(name), UPDATED_FROM:] *= 1.05
    wild = rng.random(shape[1:]) < 0.15
    times[node(FLAKY)][wild] *= 1 + rng.uniform(0.06, 0.25, int(wild.sum()))
    times[node(MISSING), :, MISSING_FROM:] = np.nan
    rollouts = tuple(Rollout(name, UPDATED_FROM, "driver", "580.1") for name in UPDATED)
    return Planted(times, Fleet(nodes=NODES, cases=CASES, rollouts=rollouts))


def history_of(planted: Planted) -> History:
    """The same as nights that a judge is given."""
    series = tuple(
        CaseSeries(node, case, tuple(None if np.isnan(x) else x for x in values.tolist()), None)
        for node, of_node in zip(NODES, planted.times, strict=True)
        for case, values in zip(CASES, of_node, strict=True)
    )
    return History(num_nights=NIGHTS, series=series, fleet=planted.fleet)
