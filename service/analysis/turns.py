"""What the second point of a pair takes over the first, from steps that took turns.

The points of a pair run equally many steps in each round, A's next to B's, so that the n-th step of
one has its twin in the n-th of the other, a few steps away. A host that changes its speed within a
trial does it to both of nearly all such twins: their ratio has it not. The ratio of two medians
has: where about half of the steps were slow, each median is of the slow or the fast ones by chance.
Where nothing changes the median of ratios is as sharp as the ratio of medians.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from service.analysis.steps import compute_ns, slowest
from workers.contract.axes import Collective, Pass
from workers.contract.frozen import Frozen
from workers.contract.trial import TrialResult


class TurnRatios(Frozen):
    """Second point over first, in one set of processes: medians over twin steps."""

    step_time: float
    compute: float | None
    """None where a rank alone has nothing but compute."""
    wires: dict[str, float]
    """Of each collective that steps of both points wait for, as `in_step` names it."""


class Placed(Protocol):
    """A collective, whatever is known of it."""

    @property
    def op(self) -> Collective:
        """What is called."""
        ...

    @property
    def where(self) -> str:
        """Place in the block."""
        ...

    @property
    def timed_in(self) -> Pass:
        """Pass of its times."""
        ...


Known = TypeVar("Known", bound=Placed)


def in_step(collectives: Sequence[Known]) -> dict[str, Known]:
    """Those that a step waits for, by operation and place; the second of a kind is numbered.

    One that runs under compute has no time in the step, and what it takes alone is no part of it.
    """
    seen: Counter[str] = Counter()
    named: dict[str, Known] = {}
    for item in collectives:
        if item.timed_in is not Pass.SPLIT:
            continue
        name = f"{item.op} {item.where}"
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name} {seen[name]}"] = item
    return named


def turn_ratios(first: TrialResult, second: TrialResult) -> TurnRatios | None:
    """Compare twin steps; None where the points did not run equally many, and so have none."""
    step = _middle(slowest(first, Pass.CLEAN)[0], slowest(second, Pass.CLEAN)[0])
    if step is None:
        return None
    before, after = in_step(first.collectives), in_step(second.collectives)
    wires = {
        name: _middle(np.array(before[name].wire_ns), np.array(after[name].wire_ns))
        for name in before
        if name in after
    }
    return TurnRatios(
        step_time=step,
        compute=_compute(first, second),
        wires={name: ratio for name, ratio in wires.items() if ratio is not None},
    )


def _compute(first: TrialResult, second: TrialResult) -> float | None:
    if not all(one.busy_ns or Pass.COMPUTE in one.samples for one in (first, second)):
        return None
    return _middle(compute_ns(first), compute_ns(second))


def _middle(first_ns: NDArray[np.int64], second_ns: NDArray[np.int64]) -> float | None:
    """Median of the twins' ratios; None where some have no twin, or none took any time."""
    if first_ns.size != second_ns.size:
        return None
    timed = (first_ns > 0) & (second_ns > 0)
    if not timed.any():
        return None
    return float(np.exp(np.median(np.log(second_ns[timed] / first_ns[timed]))))
