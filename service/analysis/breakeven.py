"""From which batch on tensor parallelism is worth its communication.

Two questions, each a crossing along the batches of one series: where compute overtakes exposed
communication, and where the step of a degree becomes shorter than that of the next smaller degree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from service.analysis.crossing import Crossing, Curve, find_crossing

LARGEST_RATIO = 20.0
"""Compute over exposed communication is cut off here: exposed communication below a twentieth of
compute is within the noise of the step, and can be 0 or less, where the ratio has no logarithm."""


@dataclass(frozen=True, slots=True)
class Times:
    """One trial's times that break-even depends on."""

    step_us: float
    compute_us: float

    @property
    def exposed_us(self) -> float:
        """Step minus compute; may be 0 or less."""
        return self.step_us - self.compute_us

    @property
    def floored_exposed_us(self) -> float:
        """Exposed communication, above 0: cut off at compute over LARGEST_RATIO."""
        return max(self.exposed_us, self.compute_us / LARGEST_RATIO)

    @property
    def log_compute_over_exposed(self) -> float:
        """Above 0 where compute takes longer."""
        return log(self.compute_us / self.floored_exposed_us)


Replicates = Mapping[tuple[str, int], Mapping[int, Times]]
"""By sweep and replicate, then by batch: one series at one tp_degree."""


def compute_overtakes(series: Replicates) -> Crossing | None:
    """Batch from which compute takes longer than exposed communication, going up."""
    curves = []
    for by_batch in series.values():
        batches = sorted(by_batch)
        above = [by_batch[batch].compute_us for batch in batches]
        below = [by_batch[batch].floored_exposed_us for batch in batches]
        curves.append(Curve.of_times(batches, above=above, below=below))
    return find_crossing(curves)


def pays_from(series: Replicates, *, smaller_degree: Replicates) -> Crossing | None:
    """Batch from which the step is shorter than that of a smaller degree, going up.

    Steps are compared within a replicate: one set of processes measured both degrees.
    """
    curves = []
    for replicate, by_batch in series.items():
        other = smaller_degree.get(replicate, {})
        if batches := sorted(by_batch.keys() & other.keys()):
            above = [other[batch].step_us for batch in batches]
            below = [by_batch[batch].step_us for batch in batches]
            curves.append(Curve.of_times(batches, above=above, below=below))
    return find_crossing(curves)
