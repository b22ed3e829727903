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
    for by_batch in _joinable(series).values():
        batches = sorted(by_batch)
        above = [by_batch[batch].compute_us for batch in batches]
        below = [by_batch[batch].floored_exposed_us for batch in batches]
        curves.append(Curve.of_times(batches, above=above, below=below))
    return find_crossing(curves)


def pays_from(series: Replicates, *, smaller_degree: Replicates) -> Crossing | None:
    """Batch from which the step is shorter than that of a smaller degree, going up.

    Steps are compared within a replicate: one set of processes measured both degrees.
    """
    both = {
        replicate: {batch: times for batch, times in own.items() if batch in other}
        for replicate, own in series.items()
        if (other := smaller_degree.get(replicate))
    }
    curves = []
    for replicate, by_batch in _joinable(both).items():
        batches = sorted(by_batch)
        above = [smaller_degree[replicate][batch].step_us for batch in batches]
        below = [by_batch[batch].step_us for batch in batches]
        curves.append(Curve.of_times(batches, above=above, below=below))
    return find_crossing(curves)


def _joinable(replicates: Replicates) -> Replicates:
    """Those that cover the range of one sweep, cut to it: of the sweep that most of them cover.

    Were the range that of all sweeps together, one of other batches would drop what another told.
    """
    ranges: dict[str, tuple[int, int]] = {}
    for (sweep_id, _), own in replicates.items():
        if own:
            low, high = ranges.get(sweep_id, (min(own), max(own)))
            ranges[sweep_id] = min(low, *own), max(high, *own)

    def covering(ends: tuple[int, int]) -> tuple[int, float, int]:
        low, high = ends
        num_covering = sum(low in own and high in own for own in replicates.values())
        return num_covering if low < high else 0, high / low, high

    best = max(set(ranges.values()), key=covering, default=None)
    if best is None or covering(best)[0] == 0:
        return {key: own for key, own in replicates.items() if own}
    low, high = best
    return {
        key: {batch: times for batch, times in own.items() if low <= batch <= high}
        for key, own in replicates.items()
        if low in own and high in own
    }
