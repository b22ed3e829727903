"""Which few points to measure so that a TP degree can be advised within a time.

A layer that is too large for the memory or the time gives way to the largest of the same ratios
that is not: as many heads, every width by the same factor less. Beside it a second one of half its
widths or less is measured, so that each can be held out: how far scaling is off is told by what was
measured. A probe, two points of a small
layer on one rank, says how fast the device is.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.analysis.advice.speed import MIN_STEPS, Speed, read_bytes
from service.analysis.plan import TRIAL_OVERHEAD_S
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.memory import estimated_bytes
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.sharding import find_obstacle
from workers.contract.sweep import Sampling, SweepSpec, Where
from workers.contract.workload import flops_per_rank

BATCHES = (1, 4, 16, 64, 256)
BATCHES_OF_TOKENS = (1, 2, 4, 8, 16)
"""Where a sequence brings all its tokens into a step."""
FEWEST_BATCHES = 4
"""Below, neither a crossing nor a prediction for another shape can be told."""
REPLICATES = 3
SECOND = 0.5
"""Of the widths of the layer that is measured, the most that the second one has."""
PROBE_BYTES, PROBE_FLOPS = 64e6, 2e9
"""Most of the probe's: beyond the caches, and done in a moment on any processor."""
MOST_SAMPLED_S, LEAST_SAMPLED_S = 1.0, 0.1
CAUTION = 1.5
"""Points together take longer than each by itself: ranks share memory and clocks fall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What advice is asked about."""

    layer: ModelShape
    phase: Phase
    seq: int
    dtype: Dtype
    batches: tuple[int, ...]
    """Empty: as many as there is time for."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A whole layer, or both parts of one that runs them in parallel."""
        return (Block.ATTENTION, Block.MLP) if self.layer.parallel_block else (Block.LAYER,)

    @property
    def degrees(self) -> tuple[int, ...]:
        """Powers of two that its layer can be cut by."""
        powers = (2**k for k in range(7))
        return tuple(
            p
            for p in powers
            if not any(find_obstacle(self.layer, block, tp_degree=p) for block in self.blocks)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One node."""

    num_devices: int
    slot_memory_bytes: int
    """Of one device; 0 where that could not be told."""
    accelerator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What to measure, and of which layer."""

    sweep: SweepSpec
    layer: ModelShape
    """The largest of those."""
    scale: float
    """Its widths over those of the asked layer; 1 where it is that layer."""
    estimated_s: float


def probe(question: Question, machine: Machine) -> SweepSpec:
    """Two points of a small layer of the same ratios on one rank, once."""
    sizes = [layer for layer, _ in scaled(question.layer, (1,))]
    batches = _batches(question)[:2]
    small = (
        layer
        for layer in sizes
        if all(
            read_bytes(spec) <= PROBE_BYTES and flops_per_rank(spec) <= PROBE_FLOPS
            for spec in _points(question, layer, (1,), batches)
        )
    )
    layer = next(small, sizes[-1])
    return _sweep(
        question, machine, (layer,), batches, degrees=(1,), sampled_s=LEAST_SAMPLED_S, replicates=1
    )


def measurement(
    question: Question, machine: Machine, speed: Speed, *, time_s: float
) -> Measurement | None:
    """The largest layer that fits, at as many batches as there is time for; None if none does.

    Where time is too short for any two layers it is one alone.
    """
    degrees = tuple(one for one in question.degrees if one <= machine.num_devices)
    sizes = list(scaled(question.layer, degrees))
    for has_second in (True, False):
        for layer, scale in sizes:
            second = _second(scale, sizes) if has_second else ()
            found = _planned(
                question, machine, speed, (layer, *second), degrees=degrees, time_s=time_s
            )
            if found is not None:
                sweep, estimated_s = found
                return Measurement(sweep=sweep, layer=layer, scale=scale, estimated_s=estimated_s)
    return None


def _planned(
    question: Question,
    machine: Machine,
    speed: Speed,
    layers: tuple[ModelShape, ...],
    *,
    degrees: tuple[int, ...],
    time_s: float,
) -> tuple[SweepSpec, float] | None:
    """Of these layers at as many batches as there is time for, and how long it would take."""
    offered = _batches(question)
    fewest = len(offered) if question.batches else FEWEST_BATCHES
    for number in range(len(offered), fewest - 1, -1):
        batches = offered[:number]
        points = [point for one in layers for point in _points(question, one, degrees, batches)]
        starts_s = REPLICATES * (speed.start_s + TRIAL_OVERHEAD_S * len(points))
        sampled_s = _sampled_s(points, speed, time_s=time_s - starts_s)
        if sampled_s is None or not _fits(points, machine):
            continue
        sweep = _sweep(question, machine, layers, batches, degrees=degrees, sampled_s=sampled_s)
        return sweep, starts_s + _together_s(points, speed, sampled_s=sampled_s)
    return None


def scaled(layer: ModelShape, degrees: Sequence[int]) -> Iterator[tuple[ModelShape, float]]:
    """The layer, then ever smaller ones of its ratios that can be cut by all of the degrees."""
    yield layer, 1.0
    for head_dim in range(layer.head_dim - 1, 0, -1):
        hidden, hidden_rest = divmod(layer.hidden_size * head_dim, layer.head_dim)
        inner, inner_rest = divmod(layer.intermediate_size * head_dim, layer.head_dim)
        if hidden_rest or inner_rest or head_dim % 2 or inner % max(degrees):
            continue
        scale = head_dim / layer.head_dim
        widths = {"hidden_size": hidden, "intermediate_size": inner, "head_dim": head_dim}
        name = f"{layer.name or 'model'} x {scale:.3g}"
        yield layer.model_copy(update={**widths, "name": name}), scale


def _second(scale: float, sizes: Sequence[tuple[ModelShape, float]]) -> tuple[ModelShape, ...]:
    """The next that has at most half the widths; none beside the asked layer itself."""
    if scale == 1:
        return ()
    smaller = (one for one, size in sizes if size <= SECOND * scale)
    return tuple(itertools.islice(smaller, 1))


def _batches(question: Question) -> tuple[int, ...]:
    usual = BATCHES if question.phase is Phase.DECODE else BATCHES_OF_TOKENS
    return question.batches or usual


def _points(
    question: Question, layer: ModelShape, degrees: Sequence[int], batches: Sequence[int]
) -> Iterator[PointSpec]:
    for block in question.blocks:
        for degree in degrees:
            for batch in batches:
                yield PointSpec(
                    model=layer,
                    block=block,
                    phase=question.phase,
                    tp_degree=degree,
                    batch=batch,
                    seq=question.seq,
                    dtype=question.dtype,
                )


def _fits(points: Sequence[PointSpec], machine: Machine) -> bool:
    room = machine.slot_memory_bytes
    return not room or all(estimated_bytes(point) <= room for point in points)


def _sampled_s(points: Sequence[PointSpec], speed: Speed, *, time_s: float) -> float | None:
    """How long each trial may be sampled for so that all take `time_s`; None if it is too short."""
    least_s = _together_s(points, speed, sampled_s=LEAST_SAMPLED_S)
    if least_s > time_s:
        return None
    spare_s = (time_s - least_s) / (CAUTION * REPLICATES * len(points))
    return round(min(MOST_SAMPLED_S, LEAST_SAMPLED_S + spare_s), 2)


def _together_s(points: Sequence[PointSpec], speed: Speed, *, sampled_s: float) -> float:
    trials_s = sum(speed.trial_s(point, sampled_s=sampled_s) for point in points)
    return CAUTION * REPLICATES * trials_s


def _sweep(
    question: Question,
    machine: Machine,
    layers: tuple[ModelShape, ...],
    batches: Sequence[int],
    *,
    degrees: Sequence[int],
    sampled_s: float,
    replicates: int = REPLICATES,
) -> SweepSpec:
    return SweepSpec(
        name=f"advice: {layers[0].name or 'a shape'} {question.phase}",
        models=layers,
        blocks=question.blocks,
        phase=(question.phase,),
        tp_degree=tuple(degrees),
        batch=tuple(batches),
        seq=(question.seq,),
        dtype=(question.dtype,),
        replicates=replicates,
        sampling=Sampling(target_rel_ci=0.05, max_time_s=sampled_s, min_steps=MIN_STEPS),
        where=Where(accelerator=machine.accelerator),
        priority=10,
    )
