"""One experiment on one page: prepare the points, warm up, time them by turns, report."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from workers.contract.axes import CollectiveImpl, Launch, Pass
from workers.contract.conditions import flags
from workers.contract.control import CONTROL_VERSION
from workers.contract.errors import (
    CollectiveCountError,
    LaunchUnavailableError,
    OrderMismatchError,
)
from workers.contract.hardware import Environment
from workers.contract.host_state import HostState
from workers.contract.probe import Measurable
from workers.contract.profile import Profile
from workers.contract.trial import PassSamples, RankResult, Span, TrialOrder
from workers.prepare import Place, Seat, Subject, prepare
from workers.runtime.device import PeakMemory, return_freed_memory
from workers.runtime.host import load_average
from workers.timing.clocks import Clock, clock_for
from workers.timing.graphs import GraphClock
from workers.timing.passes import Sampled, sample, warm_up
from workers.timing.peers import Peers
from workers.timing.profiling import profile_steps


@dataclass(frozen=True, slots=True)
class _Trial:
    """What became of a trial on this rank. A tuple has one entry for each of its points."""

    began_ns: int
    control_impl: CollectiveImpl
    """What the control sent through: the first point's."""
    environment: Environment
    num_warmup_steps: tuple[int, ...]
    sampled: Sampled
    host: HostState
    peak_memory_bytes: int
    profiles: tuple[Profile | None, ...]


def measure(
    order: TrialOrder,
    places: Sequence[Place],
    *,
    prepare: Callable[[Place, int], Subject] = prepare,
) -> RankResult:
    """Time one trial on this rank; ranks 0..tp_degree-1 run it together.

    `places` are the order's points. Another `prepare` may alter their steps: to show what is found.
    """
    began_ns = time.perf_counter_ns()
    seat = places[0].seat
    check_orders_agree(order, seat.peers)
    for place in places:
        check_launch(place.spec, seat.device)
    environment = seat.environment.model_copy(update={"load_average": load_average()})
    return_freed_memory(seat.device)
    memory = PeakMemory(seat.device)
    points = [prepare(place, order.seed) for place in places]
    clock = _clock(points, seat)
    num_warmup_steps = _warm_up(order, points, seat, clock)
    sampled, host = _sample(order, points, seat, clock)
    trial = _Trial(
        began_ns=began_ns,
        control_impl=places[0].spec.collective_impl,
        environment=environment,
        num_warmup_steps=num_warmup_steps,
        sampled=sampled,
        host=host,
        peak_memory_bytes=memory.read(),
        profiles=tuple(_profile(order, point) for point in points),
    )
    return _joined([_result(trial, point) for point in points])


def _clock(points: Sequence[Subject], seat: Seat) -> Clock:
    """The device's, which also reads what graphs marked where there are any."""
    clock = clock_for(seat.device)
    if all(point.place.spec.launch is Launch.EAGER for point in points):
        return clock
    return GraphClock(clock, [spans for point in points for spans in point.spans.values()])


def _warm_up(
    order: TrialOrder, points: Sequence[Subject], seat: Seat, clock: Clock
) -> tuple[int, ...]:
    """Run each point until it has settled, and forget what its recorders saw."""
    num_steps = tuple(
        warm_up(point.steps, clock=clock, peers=seat.peers, sampling=order.sampling)
        for point in points
    )
    for point in points:
        for recorder in point.spans.values():
            recorder.clear()
    return num_steps


def _sample(
    order: TrialOrder, points: Sequence[Subject], seat: Seat, clock: Clock
) -> tuple[Sampled, HostState]:
    """Time all points by turns, between two looks at the host."""
    before = seat.watch.look()
    sampled = sample(
        [point.steps for point in points],
        seat.control,
        clock=clock,
        peers=seat.peers,
        sampling=order.sampling,
    )
    return sampled, seat.watch.between(before, seat.watch.look())


def _profile(order: TrialOrder, point: Subject) -> Profile | None:
    """Run the extra steps on all ranks, where asked; rank 0's traces are kept."""
    if not order.profile:
        return None
    spec, seat = point.place.spec, point.place.seat
    profile = profile_steps(
        point.steps[Pass.CLEAN],
        device=seat.device,
        peers=seat.peers,
        shows_collectives=spec.tp_degree == 1 or spec.collective_impl is CollectiveImpl.BACKEND,
    )
    return profile if seat.rank == 0 else None


def _result(trial: _Trial, point: Subject) -> RankResult:
    """Say what the trial found of one of its points."""
    number, seat = point.place.number, point.place.seat
    passes = _own_passes(trial, point)
    return RankResult(
        rank=seat.rank,
        device=seat.device_facts,
        environment=trial.environment,
        passes=passes,
        spans=_counted(point, passes),
        shared_clock=seat.peers.share_a_clock and seat.device.type == "cpu",
        proof=point.place.proof,
        num_warmup_steps=trial.num_warmup_steps[number],
        stop_rule=trial.sampled.stop_rules[number],
        peak_memory_bytes=trial.peak_memory_bytes,
        quality=flags(
            point.place.spec,
            seat.device_facts,
            trial.environment,
            trial.host,
            clean=passes[Pass.CLEAN],
            ranks_here=seat.peers.num_here,
        ),
        host=trial.host,
        profile=trial.profiles[number],
        wall_ns=time.perf_counter_ns() - trial.began_ns,
        timed_ns=trial.sampled.timed_ns,
        control_version=CONTROL_VERSION,
    )


def _own_passes(trial: _Trial, point: Subject) -> dict[Pass, PassSamples]:
    """Leave the control collective out where it is not of the point's own implementation."""
    passes = dict(trial.sampled.passes[point.place.number])
    if point.place.spec.collective_impl is not trial.control_impl:
        passes.pop(Pass.CONTROL_COLLECTIVE, None)
    return passes


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


def check_orders_agree(order: TrialOrder, peers: Peers) -> None:
    """Compare what the ranks were told; a differing shape would abort the processes in gloo."""
    keys = "/".join(point.spec_key for point in order.points)
    told = f"{keys}/{order.seed:020d}/{order.attempt:06d}".encode()
    if len(set(peers.exchange_bytes(told))) > 1:
        msg = f"the ranks of trial {order.trial_id} were given different points, seeds or attempts"
        raise OrderMismatchError(msg)


def check_launch(spec: Measurable, device: torch.device) -> None:
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
