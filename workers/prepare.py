"""One point on one rank, made ready to be timed: its block, its input, its step in each pass.

Legend: T tokens that this rank is given, H hidden.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import assert_never

import torch
from torch import Tensor

from workers.contract.axes import Launch, Pass
from workers.contract.hardware import DeviceFacts, Environment
from workers.contract.point import PointSpec
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe, Measurable
from workers.contract.trial import Proof
from workers.contract.workload import Message, expected_messages, messages_of_rank
from workers.runtime.watch import HostWatch
from workers.timing.clocks import Step
from workers.timing.graphs import CudaRecorder, GraphSpans, graphed
from workers.timing.peers import Peers
from workers.timing.spans import Spans, spans_for
from workers.timing.standalone import StandaloneStep
from workers.tp.blocks import draw_shard
from workers.tp.copying import CopyStep
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.product import ProductStep
from workers.tp.sharded_block import ShardedBlock


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one rank sits while it measures: device, group and the peers it keeps step with."""

    rank: int
    device: torch.device
    device_facts: DeviceFacts
    environment: Environment
    group: TensorParallelGroup
    peers: Peers
    watch: HostWatch
    control: Mapping[Pass, Step]
    """What takes turns with every point, whatever it is: `workers.timing.control`."""


@dataclass(frozen=True, slots=True)
class Place:
    """One point of a trial on this rank, before anything is drawn."""

    number: int
    """1 for the second point of a pair, else 0."""
    spec: Measurable
    seat: Seat
    proof: Proof
    """What was shown of the same shape, degree and dtype on this group before."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One point of a trial on this rank, ready to be timed."""

    place: Place
    steps: Mapping[Pass, Step]
    spans: Mapping[Pass, Spans]


class TrainStep:
    """Forward and backward. The gradients are returned, not accumulated, and then dropped."""

    has_backward = True

    def __init__(
        self,
        block: ShardedBlock,
        inputs: tuple[Tensor, Tensor],
        group: TensorParallelGroup,
        *,
        batch: int,
    ) -> None:
        """`inputs` are x_TH, `batch` sequences which require grad, and the gradient of y_TH."""
        self._block, self._group, self._batch = block, group, batch
        self._x_TH, self._grad_TH = inputs
        self._wanted = (self._x_TH, *block.weights)

    def forward(self) -> Tensor:
        """y_TH with its graph."""
        return self._block.forward(self._x_TH, self._group, batch=self._batch)

    def backward(self, output: Tensor) -> None:
        """Gradients of the input and of every weight."""
        torch.autograd.grad(output, self._wanted, self._grad_TH)


class ForwardStep:
    """One forward that builds no graph: prefill or decode."""

    has_backward = False

    def __init__(
        self, block: ShardedBlock, x_TH: Tensor, group: TensorParallelGroup, *, batch: int
    ) -> None:
        self._block, self._x_TH, self._group, self._batch = block, x_TH, group, batch

    def forward(self) -> Tensor:
        """y_TH."""
        with torch.no_grad():
            return self._block.forward(self._x_TH, self._group, batch=self._batch)

    def backward(self, output: Tensor) -> None:
        """Nothing."""


def prepare(place: Place, seed: int) -> Subject:
    """Draw the point's block and input, and make its step in each pass."""
    spans = _spans(place.spec, place.seat)
    steps = _steps(place.spec, seed, place.seat, spans)
    if place.spec.launch is Launch.CUDA_GRAPH:
        steps = graphed(steps, spans, recorder=partial(CudaRecorder, place.seat.device))
    return Subject(place=place, steps=steps, spans=spans)


def draw_inputs(
    spec: PointSpec, *, seed: int, device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """x_TH and the gradient of y_TH: normal, never zeros, which powers and caches make faster."""
    generator = torch.Generator(device).manual_seed(seed)
    batch, seq, hidden = spec.input_shape
    shape = (batch * seq, hidden)
    x_TH, grad_TH = (
        torch.randn(shape, generator=generator, device=device).to(dtype) for _ in range(2)
    )
    return x_TH.requires_grad_(spec.phase.has_backward), grad_TH


def step_of(
    spec: PointSpec,
    block: ShardedBlock,
    inputs: tuple[Tensor, Tensor],
    group: TensorParallelGroup,
) -> Step:
    """One step as the point's phase has it, over `draw_inputs`' tensors."""
    batch = spec.input_shape[0]
    if spec.phase.has_backward:
        return TrainStep(block, inputs, group, batch=batch)
    return ForwardStep(block, inputs[0], group, batch=batch)


def _spans(spec: Measurable, seat: Seat) -> dict[Pass, Spans]:
    """Make a recorder for what the step waits for, and one for what runs under its compute."""
    by_pass: dict[Pass, list[Message]] = {}
    for message in messages_of_rank(spec, seat.rank):
        timed_in = Pass.STANDALONE if message.is_overlapped else Pass.SPLIT
        by_pass.setdefault(timed_in, []).append(message)
    is_graph = spec.launch is Launch.CUDA_GRAPH
    recorder: Callable[..., Spans] = GraphSpans if is_graph else partial(spans_for, seat.device)
    return {
        kind: recorder(seat.group.collectives, messages=tuple(messages), timed_in=kind)
        for kind, messages in by_pass.items()
    }


def _steps(
    spec: Measurable, seed: int, seat: Seat, spans: Mapping[Pass, Spans]
) -> dict[Pass, Step]:
    """Make the step of each pass."""
    match spec:
        case PointSpec():
            return _steps_of_block(spec, seed, seat, spans)
        case CollectiveProbe():
            ways = {Pass.CLEAN: seat.group.collectives, Pass.SPLIT: spans[Pass.SPLIT]}
            return {
                kind: StandaloneStep(
                    collectives,
                    messages=expected_messages(spec),
                    num_ranks=spec.tp_degree,
                    device=seat.device,
                    dtype=getattr(torch, spec.dtype),
                )
                for kind, collectives in ways.items()
            }
        case GemmProbe():
            return {Pass.CLEAN: ProductStep.draw(spec, seed=seed, device=seat.device)}
        case CopyProbe():
            return {Pass.CLEAN: CopyStep.draw(spec, seed=seed, device=seat.device)}
        case _:
            assert_never(spec)


def _steps_of_block(
    spec: PointSpec, seed: int, seat: Seat, spans: Mapping[Pass, Spans]
) -> dict[Pass, Step]:
    """Make the steps over one block and one input.

    The input is the same on all ranks, unless each is given its share of the tokens.
    """
    dtype = getattr(torch, spec.dtype)
    block = draw_shard(spec, rank=seat.rank, seed=seed, device=seat.device, dtype=dtype)
    own_seed = seed + (seat.rank if spec.layout.has_token_shards else 0)
    inputs = draw_inputs(spec, seed=own_seed, device=seat.device, dtype=dtype)
    steps = {
        kind: step_of(spec, block, inputs, group)
        for kind, group in _groups(spec, seat.group, spans).items()
    }
    if Pass.STANDALONE in spans:
        steps[Pass.STANDALONE] = StandaloneStep(
            spans[Pass.STANDALONE],
            messages=[message for message in expected_messages(spec) if message.is_overlapped],
            num_ranks=spec.tp_degree,
            device=seat.device,
            dtype=dtype,
        )
    return steps


def _groups(
    spec: PointSpec, group: TensorParallelGroup, spans: Mapping[Pass, Spans]
) -> dict[Pass, TensorParallelGroup]:
    """Return what the step sends through in each pass.

    Alone on its group a rank sends nothing: the clean pass is the compute-only pass.
    """
    groups = {Pass.CLEAN: group}
    if group.size > 1 and spec.num_layers == 1:  # else the spans say who worked when
        groups[Pass.COMPUTE] = group.with_collectives(NoCollectives())
    if Pass.SPLIT in spans:
        groups[Pass.SPLIT] = group.with_collectives(spans[Pass.SPLIT])
    return groups
