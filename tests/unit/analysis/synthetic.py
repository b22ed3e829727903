"""Series of batches on a machine whose break-even is known, as replicates would see them."""

from dataclasses import dataclass
from math import inf

import numpy as np

from service.analysis.breakeven import Replicates, Times
from service.analysis.crossing import Crossing, Outcome

OCTAVES = tuple(2**k for k in range(11))
QUADRUPLES = tuple(4**k for k in range(6))


@dataclass(frozen=True, slots=True)
class Machine:
    """A step at tp_degree 2: compute floor + slope * batch, all-reduce alpha + beta * batch, us."""

    alpha: float
    beta: float
    slope: float
    floor: float = 0

    def compute(self, batch: int) -> float:
        return self.floor + self.slope * batch

    def communication(self, batch: int) -> float:
        return self.alpha + self.beta * batch

    @property
    def break_even(self) -> float:
        """Where compute overtakes communication, and where two ranks start to pay as well.

        One rank alone takes twice the compute.
        """
        return (self.alpha - self.floor) / (self.slope - self.beta)

    def times(self, batch: int) -> Times:
        compute = self.compute(batch)
        return Times(step_us=compute + self.communication(batch), compute_us=compute)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A machine, the batches at which it is measured, and the noise of one step."""

    name: str
    machine: Machine
    batches: tuple[int, ...]
    noise: float


SCENARIOS = (
    Scenario("quiet", Machine(alpha=100, beta=0.2, slope=5), OCTAVES, 0.02),
    Scenario("sparse", Machine(alpha=100, beta=0.2, slope=5), QUADRUPLES, 0.02),
    Scenario("noisy", Machine(alpha=100, beta=1, slope=5, floor=20), OCTAVES, 0.1),
    Scenario("sparse and very noisy", Machine(alpha=100, beta=0.2, slope=5), QUADRUPLES, 0.3),
    Scenario("shallow", Machine(alpha=100, beta=3, slope=5), OCTAVES, 0.1),
    Scenario("near the smallest batch", Machine(alpha=10, beta=0.2, slope=5), OCTAVES, 0.05),
    Scenario("near the largest batch", Machine(alpha=4000, beta=0.2, slope=5), OCTAVES, 0.05),
)


@dataclass(frozen=True, slots=True)
class Draw:
    """What one set of replicates saw: two ranks, and one alone in the same processes."""

    two: Replicates
    alone: Replicates


def draw(scenario: Scenario, *, num_replicates: int, rng: np.random.Generator) -> Draw:
    """Draw it log-normal: a replicate has its own speeds, a step its own noise."""
    two: dict[tuple[str, int], dict[int, Times]] = {}
    alone: dict[tuple[str, int], dict[int, Times]] = {}
    machine = scenario.machine
    for replicate in range(num_replicates):
        speed, link = np.exp(rng.normal(0, (0.1, 0.2)))
        key = ("sweep", replicate)
        two[key], alone[key] = {}, {}
        for batch in scenario.batches:
            compute = machine.compute(batch) * speed
            step = compute + machine.communication(batch) * link
            first, second, third = np.exp(rng.normal(0, scenario.noise, 3))
            two[key][batch] = Times(step_us=step * first, compute_us=compute * second)
            by_one = 2 * compute * third
            alone[key][batch] = Times(step_us=by_one, compute_us=by_one)
    return Draw(two, alone)


def holds(found: Crossing | None, batch: float) -> bool:
    """Whether what is claimed is true of a crossing within the range; no claim is never wrong."""
    if found is None or found.outcome is Outcome.CANNOT_TELL:
        return True
    if found.batch is None:
        return False
    low = 0 if found.batch.low is None else found.batch.low
    high = inf if found.batch.high is None else found.batch.high
    return low <= batch <= high
