"""What one trial says, in microseconds: the only step from raw samples to figures.

A group is as slow as its slowest rank, so each step counts with its slowest rank; a figure is the
median over the steps of its pass (MEASURING: per step the maximum over ranks, then the median).
"""

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from service.analysis.control import ControlSummary, control_time
from service.analysis.steps import EmptyTrialError, compute_ns, slowest, slowest_ns
from service.analysis.turns import TurnRatios, in_step, turn_ratios
from workers.contract.axes import Collective, Pass
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe
from workers.contract.trial import CollectiveTiming, TrialResult


class CollectiveSummary(Frozen):
    """One collective of the step: medians over the steps of the split pass."""

    op: Collective
    where: str
    message_bytes: int
    time_us: float
    """Wire: last exit minus last entry."""
    wait_us: float
    """Mean over ranks of the wait for the last to enter."""
    timed_in: Pass = Pass.SPLIT
    """Standalone for one that runs under compute: both times are then of it alone, bare."""


class TrialSummary(Frozen):
    """One trial over all ranks. The five times of the design, each with its one formula."""

    step_time_us: float
    """Clean pass, slowest rank."""
    forward_time_us: float
    backward_time_us: float
    """The parts of the rank that was slowest in each step; 0 where the phase has no backward."""
    split_step_time_us: float
    """The step while spans are taken; the clean step where there is nothing to take."""
    compute_time_us: float
    """The compute-only pass; the clean step at tp_degree 1, where nothing is left out. Of layers
    that wait for one another what all ranks worked themselves, one after the other."""
    wire_us: float
    wait_us: float
    """Sums over the collectives that a step waits for; not those that run under its compute."""
    p10_us: float
    p90_us: float
    min_us: float
    num_steps: int
    """Timed steps of the clean pass."""
    perturbation: float
    """How much longer the step is while spans are taken: split over clean, minus 1."""
    collectives: tuple[CollectiveSummary, ...]
    enqueue_time_us: float | None = None
    """What the host took to start a clean step, slowest rank; None on a CPU."""
    idle_shares: tuple[float, ...] = ()
    """By rank, where ranks wait for one another's layers: the part of the step in which it did not
    work itself, median over the steps of the split pass."""
    control: ControlSummary | None = None
    """None for a trial that had none."""
    turns: TurnRatios | None = None
    """Of the second point of a pair: what its steps took over the first's, turn by turn."""

    @property
    def is_overlapped(self) -> bool:
        """Whether some collective runs under compute, where it has no time of its own."""
        return any(item.timed_in is Pass.STANDALONE for item in self.collectives)

    @property
    def communication_time_us(self) -> float | None:
        """Wire time of all collectives of a step; None where some have none in it."""
        return None if self.is_overlapped else self.wire_us

    @property
    def standalone_communication_us(self) -> float | None:
        """Wire time of the overlapped collectives run bare: what there was to hide. No summand."""
        if not self.is_overlapped:
            return None
        return sum(i.time_us for i in self.collectives if i.timed_in is Pass.STANDALONE)

    @property
    def exposed_communication_us(self) -> float:
        """Step minus compute. Noise can make it negative; nothing is clipped here."""
        return self.step_time_us - self.compute_time_us

    @property
    def communication_share(self) -> float:
        """Exposed communication over the step; negative where the former is."""
        return share_of_communication(step_us=self.step_time_us, compute_us=self.compute_time_us)

    @property
    def collective_share(self) -> float | None:
        """Wire and wait over the split pass's step: collective kernel time over active time.

        None where some collectives have no time in the step.
        """
        if self.is_overlapped:
            return None
        return (self.wire_us + self.wait_us) / self.split_step_time_us


def share_of_communication(*, step_us: float, compute_us: float) -> float:
    """Step minus compute, over the step."""
    return (step_us - compute_us) / step_us


def summarise(result: TrialResult, *, beside: TrialResult | None = None) -> TrialSummary:
    """Take each step's slowest rank, then medians. EmptyTrialError where there is nothing.

    `beside` is the first point of a pair, with which the result's own took turns.
    """
    clean, forward = slowest(result, Pass.CLEAN)
    step_us = _median_us(clean)
    split_us = step_us
    if in_step(result.collectives) or Pass.SPLIT in result.samples:
        split_us = _median_us(slowest(result, Pass.SPLIT)[0])
    collectives = tuple(_collective(timing) for timing in result.collectives)
    low, high = np.quantile(clean, (0.1, 0.9)) / 1e3
    return TrialSummary(
        step_time_us=step_us,
        forward_time_us=_median_us(forward),
        enqueue_time_us=_enqueue_time_us(result),
        backward_time_us=_median_us(clean - forward),
        split_step_time_us=split_us,
        compute_time_us=_compute_time_us(result, step_us),
        wire_us=sum(item.time_us for item in collectives if item.timed_in is Pass.SPLIT),
        wait_us=sum(item.wait_us for item in collectives if item.timed_in is Pass.SPLIT),
        p10_us=float(low),
        p90_us=float(high),
        min_us=float(clean.min()) / 1e3,
        num_steps=int(clean.size),
        perturbation=split_us / step_us - 1,
        collectives=collectives,
        idle_shares=_idle_shares(result),
        control=_control(result),
        turns=None if beside is None else turn_ratios(beside, result),
    )


def _enqueue_time_us(result: TrialResult) -> float | None:
    ranks = [rank.enqueue_ns for rank in result.samples[Pass.CLEAN] if rank.enqueue_ns]
    return _median_us(np.array(ranks, dtype=np.int64).max(axis=0)) if ranks else None


def _control(result: TrialResult) -> ControlSummary | None:
    times = {
        kind: control_time(slowest_ns(result.samples[kind]))
        for kind in (Pass.CONTROL_GEMM, Pass.CONTROL_COLLECTIVE)
        if kind in result.samples
    }
    if Pass.CONTROL_GEMM not in times:
        return None
    return ControlSummary(
        version=result.control_version,
        gemm=times[Pass.CONTROL_GEMM],
        collective=times.get(Pass.CONTROL_COLLECTIVE),
    )


def _compute_time_us(result: TrialResult, step_us: float) -> float:
    """All of the step where nothing is sent; none of it where nothing but that is done."""
    match result.point:
        case CollectiveProbe():
            return 0.0
        case GemmProbe() | CopyProbe():
            return step_us
        case PointSpec():
            return step_us if result.point.tp_degree == 1 else _median_us(compute_ns(result))
        case _:
            assert_never(result.point)


def _idle_shares(result: TrialResult) -> tuple[float, ...]:
    if not result.busy_ns:
        return ()
    steps, _ = slowest(result, Pass.SPLIT)
    return tuple(float(np.median(1 - np.array(busy) / steps)) for busy in result.busy_ns)


def _collective(timing: CollectiveTiming) -> CollectiveSummary:
    if not timing.wire_ns or not timing.wait_ns:
        raise EmptyTrialError(f"{timing.op} at {timing.where} was never timed")
    return CollectiveSummary(
        op=timing.op,
        where=timing.where,
        message_bytes=timing.message_bytes,
        time_us=_median_us(np.asarray(timing.wire_ns)),
        wait_us=_median_us(np.asarray(timing.wait_ns)),
        timed_in=timing.timed_in,
    )


def _median_us(values_ns: NDArray[np.int64]) -> float:
    return float(np.median(values_ns)) / 1e3
