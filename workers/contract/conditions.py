"""Which conditions of a measurement its reader must know: quality flags, only what is established.

Words for each are `service.analysis.quality`'s.
"""

from collections.abc import Iterator
from statistics import median

from workers.contract.axes import CollectiveImpl
from workers.contract.hardware import DeviceFacts, Environment
from workers.contract.host_state import DeviceReading, HostState
from workers.contract.point import PointSpec
from workers.contract.probe import Measurable
from workers.contract.trial import PassSamples

MOST_DISTURBED = 0.05
"""Share of the timed part that others may take before the figures are said to hold it."""
MOST_THROTTLED = 0.01
LAUNCH_BOUND = 0.95
TICK_NS = 10_000_000
"""Of /proc/stat (USER_HZ is 100): a share of few ticks is known no better than to one of them."""
MOST_GROWTH_BYTES = 8 << 20
"""On a CPU; what the samples themselves take is below it. A device must not grow at all."""


def flags(
    spec: Measurable,
    device: DeviceFacts,
    environment: Environment,
    state: HostState,
    *,
    clean: PassSamples,
    ranks_here: int,
) -> tuple[str, ...]:
    """Name what disturbed one rank's figures, or changes what they mean.

    `ranks_here` sit on its host, this one among them.
    """
    is_cpu = device.kind == "cpu"
    share_cores = ranks_here * environment.num_threads > environment.num_cores
    return (
        *(("oversubscribed",) if is_cpu and share_cores else ()),
        *_about_ranks(spec, environment, is_cpu=is_cpu),
        *_about_host(state, is_cpu=is_cpu, can_blame_others=not share_cores),
        *(_about_device(*state.device, window_ns=state.window_ns) if state.device else ()),
        *(("launch_bound",) if is_launch_bound(clean) else ()),
    )


def is_launch_bound(clean: PassSamples) -> bool:
    """Whether the host took as long to start a step as the device to run it.

    The limit of this: between a step's events lie the gaps in which the device waited for the next
    kernel, so that a launch-bound step takes about what it takes to start, not less. Where the two
    are within `LAUNCH_BOUND` of one another the host sets the pace, or nearly does.
    """
    if clean.enqueue_ns is None:
        return False
    return median(clean.enqueue_ns) >= LAUNCH_BOUND * median(clean.step_ns)


def _about_ranks(spec: Measurable, environment: Environment, *, is_cpu: bool) -> Iterator[str]:
    uses_gloo = is_cpu and spec.collective_impl is CollectiveImpl.BACKEND
    if uses_gloo and spec.tp_degree > 1 and not environment.realtime_io:
        yield "scheduler_noise"
    if environment.niceness > 0:
        yield "low_priority"
    if isinstance(spec, PointSpec) and spec.kv_copies > 1:
        yield "kv_heads_replicated"


def _about_host(state: HostState, *, is_cpu: bool, can_blame_others: bool) -> Iterator[str]:
    """Ranks that share a core disturb one another: then nobody else can be blamed for it."""
    if is_cpu and not state.is_flushing_denormals:
        yield "denormals_not_flushed"
    if state.grown_bytes > (MOST_GROWTH_BYTES if is_cpu else 0):
        yield "allocator_grew"
    if not is_cpu or not can_blame_others:
        return
    waited = (state.waited_for_core_ns or 0) / state.window_ns
    one_tick = TICK_NS / state.window_ns
    ticks = max(state.others_share or 0, state.steal_share or 0) - 2 * one_tick
    if max(waited, ticks) > MOST_DISTURBED:
        yield "busy_host"


def _about_device(before: DeviceReading, after: DeviceReading, *, window_ns: int) -> Iterator[str]:
    """Throttled by the counters where there are any; a reason holds for the moment of a look."""
    throttled_ns = 0
    if before.throttled_ns is not None and after.throttled_ns is not None:
        throttled_ns = after.throttled_ns - before.throttled_ns
    reasons = (before.throttle_reasons, after.throttle_reasons)
    if any(reasons) or throttled_ns > MOST_THROTTLED * window_ns:
        yield "throttled"
    if before.num_other_processes or after.num_other_processes:
        yield "shared_device"
