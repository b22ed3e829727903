"""One experiment on one page: build the block, warm it up, time it in three ways, report.

Legend: B batch, S sequence, H hidden.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from workers.contract.axes import Launch, Pass
from workers.contract.conditions import flags
from workers.contract.control import CONTROL_VERSION
from workers.contract.errors import (
    CollectiveCountError,
    LaunchUnavailableError,
    OrderMismatchError,
)
from workers.contract.hardware import DeviceFacts, Environment
from workers.contract.point import PointSpec
from workers.contract.profile import Profile
from workers.contract.trial import PassSamples, Proof, RankResult, Span, TrialOrder
from workers.contract.workload import Message, expected_messages, messages_of_rank
from workers.runtime.device import PeakMemory, return_freed_memory
from workers.runtime.host import load_average
from workers.runtime.watch import HostWatch
from workers.timing.clocks import Step, clock_for
from workers.timing.graphs import CudaRecorder, GraphSpans, graphed
from workers.timing.passes import sample, warm_up
from workers.timing.peers import Peers
from workers.timing.profiling import profile_steps
from workers.timing.spans import Spans, spans_for
from workers.timing.standalone import StandaloneStep
from workers.tp.blocks import ShardedBlock, draw_shard
from workers.tp.group import NoCollectives, TensorParallelGroup


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


class TrainStep:
    """Forward and backward. The gradients are returned, not accumulated, and then dropped."""

    def __init__(
        self, block: ShardedBlock, x_BSH: Tensor, grad_BSH: Tensor, group: TensorParallelGroup
    ) -> None:
        self._block, self._x_BSH, self._grad_BSH, self._group = block, x_BSH, grad_BSH, group
        self._wanted = (x_BSH, *block.weights)
        self.has_backward = True

    def forward(self) -> Tensor:
        """y_BSH with its graph."""
        return self._block.forward(self._x_BSH, self._group)

    def backward(self, output: Tensor) -> None:
        """Gradients of the input and of every weight."""
        torch.autograd.grad(output, self._wanted, self._grad_BSH)


class ForwardStep:
    """One forward that builds no graph: prefill or decode."""

    def __init__(self, block: ShardedBlock, x_BSH: Tensor, group: TensorParallelGroup) -> None:
        self._block, self._x_BSH, self._group = block, x_BSH, group
        self.has_backward = False

    def forward(self) -> Tensor:
        """y_BSH."""
        with torch.no_grad():
            return self._block.forward(self._x_BSH, self._group)

    def backward(self, output: Tensor) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """One point of a trial on this rank, before anything is drawn."""

    number: int
    """1 for the second point of a pair, else 0."""
    spec: PointSpec
    seat: Seat
    proof: Proof
    """What was shown of the same shape, degree and dtype on this group before."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One point of a trial on this rank, ready to be timed."""

    place: Place
    steps: Mapping[Pass, Step]
    spans: Mapping[Pass, Spans]


def prepare(place: Place, seed: int) -> Subject:
    """Draw the point's block and input, and make its step in each pass."""
    spans = _spans(place.spec, place.seat)
    steps = _steps(place.spec, seed, place.seat, spans)
    if place.spec.launch is Launch.CUDA_GRAPH:
        steps = graphed(steps, spans, recorder=partial(CudaRecorder, place.seat.device))
    return Subject(place=place, steps=steps, spans=spans)


def measure(
    order: TrialOrder,
    places: Sequence[Place],
    *,
    prepare: Callable[[Place, int], Subject] = prepare,
) -> RankResult:
    """Time one trial on this rank; ranks 0..tp_degree-1 run it together.

    `places` are the order's points. Another `prepare` may alter their steps: to show what is found.
    """
    began = time.perf_counter_ns()
    seat = places[0].seat
    check_orders_agree(order, seat.peers)
    for place in places:
        check_launch(place.spec, seat.device)
    environment = seat.environment.model_copy(update={"load_average": load_average()})
    return_freed_memory(seat.device)
    memory = PeakMemory(seat.device)
    points = [prepare(place, order.seed) for place in places]
    clock = clock_for(seat.device)
    num_warmup = [
        warm_up(point.steps, clock=clock, peers=seat.peers, sampling=order.sampling)
        for point in points
    ]
    for point in points:
        for recorder in point.spans.values():
            recorder.clear()
    before = seat.watch.look()
    sampled = sample(
        [point.steps for point in points],
        seat.control,
        clock=clock,
        peers=seat.peers,
        sampling=order.sampling,
    )
    state = seat.watch.between(before, seat.watch.look())
    peak_memory_bytes = memory.read()
    profiles = _profiles(order, points)
    results = [
        RankResult(
            rank=seat.rank,
            device=seat.device_facts,
            environment=environment,
            passes=passes,
            spans=_counted(point, passes),
            shared_clock=seat.peers.share_a_clock and seat.device.type == "cpu",
            proof=point.place.proof,
            num_warmup_steps=num_steps,
            stop_rule=stop_rule,
            peak_memory_bytes=peak_memory_bytes,
            quality=flags(
                point.place.spec,
                seat.device_facts,
                environment,
                state,
                clean=passes[Pass.CLEAN],
            ),
            host=state,
            profile=profile,
            wall_ns=time.perf_counter_ns() - began,
            timed_ns=sampled.timed_ns,
            control_version=CONTROL_VERSION,
        )
        for point, passes, stop_rule, num_steps, profile in zip(
            points, sampled.passes, sampled.stop_rules, num_warmup, profiles, strict=True
        )
    ]
    return _joined(results)


def _profiles(order: TrialOrder, points: Sequence[Subject]) -> list[Profile | None]:
    """Run the extra steps on all ranks, where asked; rank 0's traces are kept."""
    found: list[Profile | None] = []
    for point in points:
        seat = point.place.seat
        profile = None
        if order.profile:
            profile = profile_steps(point.steps[Pass.CLEAN], device=seat.device, peers=seat.peers)
        found.append(profile if seat.rank == 0 else None)
    return found


def check_orders_agree(order: TrialOrder, peers: Peers) -> None:
    """Compare what the ranks were told; a differing shape would abort the processes in gloo."""
    keys = "/".join(point.spec_key for point in order.points)
    told = f"{keys}/{order.seed:020d}/{order.attempt:06d}".encode()
    if len(set(peers.exchange_bytes(told))) > 1:
        msg = f"the ranks of trial {order.trial_id} were given different points, seeds or attempts"
        raise OrderMismatchError(msg)


def check_launch(spec: PointSpec, device: torch.device) -> None:
    """Refuse on every rank what the device cannot start."""
    if spec.launch is Launch.CUDA_GRAPH and device.type != "cuda":
        msg = f"launch=cuda_graph needs a CUDA device, and this is {device.type}; "
        raise LaunchUnavailableError(msg + "launch=eager works everywhere")


def check_every_step_is_counted(passes: Mapping[Pass, PassSamples], spans: Sequence[Span]) -> None:
    """Compare the calls that were timed with the steps: what was proved must also be what ran."""
    for span in spans:
        num_steps = len(passes[span.timed_in].step_ns)
        if len(span.enter_ns) != num_steps:
            msg = f"{span.where} was timed {len(span.enter_ns)} times in {num_steps} steps; "
            msg += "does the timed input require a gradient, as the proved one did?"
            raise CollectiveCountError(msg)


def _spans(spec: PointSpec, seat: Seat) -> dict[Pass, Spans]:
    """Make a recorder for what the step waits for, and one for what runs under its compute."""
    by_pass: dict[Pass, list[Message]] = {}
    for message in messages_of_rank(spec, seat.rank):
        timed_in = Pass.STANDALONE if message.is_overlapped else Pass.SPLIT
        by_pass.setdefault(timed_in, []).append(message)
    inner = seat.group.collectives
    if spec.launch is Launch.CUDA_GRAPH:
        return {
            kind: GraphSpans(inner, messages=tuple(messages), timed_in=kind)
            for kind, messages in by_pass.items()
        }
    return {
        kind: spans_for(seat.device, inner, messages=tuple(messages), timed_in=kind)
        for kind, messages in by_pass.items()
    }


def _counted(point: Subject, passes: Mapping[Pass, PassSamples]) -> tuple[Span, ...]:
    spans = tuple(span for recorder in point.spans.values() for span in recorder.collect())
    check_every_step_is_counted(passes, spans)
    return spans


def _joined(results: Sequence[RankResult]) -> RankResult:
    """The second point of a pair goes with the first."""
    first, *others = results
    if not others:
        return first
    first, second = (
        result.model_copy(update={"quality": (*result.quality, "paired")}) for result in results
    )
    return first.model_copy(update={"pair": second})


def _steps(spec: PointSpec, seed: int, seat: Seat, spans: Mapping[Pass, Spans]) -> dict[Pass, Step]:
    """Make the step of each pass over one block and one input.

    The input is the same on all ranks, unless each is given its share of the tokens.
    Alone on its group a rank sends nothing: the clean pass is the compute-only pass.
    """
    dtype = getattr(torch, spec.dtype)
    block = draw_shard(spec, rank=seat.rank, seed=seed, device=seat.device, dtype=dtype)
    own_seed = seed + (seat.rank if spec.layout.has_token_shards else 0)
    x_BSH, grad_BSH = _draw_inputs(spec, seed=own_seed, device=seat.device, dtype=dtype)
    groups = {Pass.CLEAN: seat.group}
    if seat.group.size > 1 and spec.num_layers == 1:  # else the spans say who worked when
        groups[Pass.COMPUTE] = replace(seat.group, collectives=NoCollectives())
    if Pass.SPLIT in spans:
        groups[Pass.SPLIT] = replace(seat.group, collectives=spans[Pass.SPLIT])
    steps: dict[Pass, Step] = {}
    for kind, group in groups.items():
        if spec.phase.has_backward:
            steps[kind] = TrainStep(block, x_BSH, grad_BSH, group)
        else:
            steps[kind] = ForwardStep(block, x_BSH, group)
    if Pass.STANDALONE in spans:
        steps[Pass.STANDALONE] = StandaloneStep(
            spans[Pass.STANDALONE],
            messages=[message for message in expected_messages(spec) if message.is_overlapped],
            num_ranks=spec.tp_degree,
            device=seat.device,
            dtype=dtype,
        )
    return steps


def _draw_inputs(
    spec: PointSpec, *, seed: int, device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """x_BSH and the gradient of y_BSH: normal, never zeros, which powers and caches make faster."""
    generator = torch.Generator(device).manual_seed(seed)
    shape = spec.input_shape
    x_BSH, grad_BSH = (
        torch.randn(shape, generator=generator, device=device).to(dtype) for _ in range(2)
    )
    return x_BSH.requires_grad_(spec.phase.has_backward), grad_BSH
