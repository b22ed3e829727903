"""How fast a device is, roughly, from a few points: enough to know what can be measured in time."""

from collections.abc import Sequence
from dataclasses import dataclass

from workers.contract.point import PointSpec
from workers.contract.workload import cached_per_rank, flops_per_rank, weights_per_rank

MIN_STEPS = 5
STEPS_OF_A_TRIAL = 4 * MIN_STEPS
"""Each of three passes at least MIN_STEPS times, and those that warm it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One trial that was measured on a single rank."""

    spec: PointSpec
    step_s: float
    beside_s: float
    """What the trial took beside its timed steps: drawing weights, the proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Rates of one device. The fastest of each that was seen; steps take their times in sum."""

    flop_per_s: float
    bytes_per_s: float
    drawn_bytes_per_s: float
    """Weights that come into being before a trial is timed."""
    start_s: float
    """Until the processes of a replicate are there."""

    def trial_s(self, spec: PointSpec, *, sampled_s: float) -> float:
        """A trial: its weights drawn, and as many steps as it has to take."""
        whole = spec.model_copy(update={"tp_degree": 1})
        return weight_bytes(whole) / self.drawn_bytes_per_s + max(
            sampled_s, STEPS_OF_A_TRIAL * self.step_s(spec)
        )

    def step_s(self, spec: PointSpec) -> float:
        """One step of one rank, its communication left out."""
        return flops_per_rank(spec) / self.flop_per_s + read_bytes(spec) / self.bytes_per_s


def speed_of(seen: Sequence[Seen], *, start_s: float) -> Speed:
    """Judge by at least one trial, of processes that took so long to start."""
    return Speed(
        flop_per_s=max(flops_per_rank(one.spec) / one.step_s for one in seen),
        bytes_per_s=max(read_bytes(one.spec) / one.step_s for one in seen),
        drawn_bytes_per_s=min(weight_bytes(one.spec) / one.beside_s for one in seen),
        start_s=start_s,
    )


def weight_bytes(spec: PointSpec) -> int:
    """Weights of one rank."""
    return weights_per_rank(spec) * spec.dtype.num_bytes


def read_bytes(spec: PointSpec) -> int:
    """What a step reads at least once: weights, cached keys and values."""
    return weight_bytes(spec) + cached_per_rank(spec) * spec.dtype.num_bytes
