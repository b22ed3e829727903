"""Each flag with the least that raises it, and with what does not."""

import pytest

from service.analysis.quality import MEANINGS
from tests.unit.workers.builders import ENVIRONMENT, point
from workers.contract.axes import CollectiveImpl
from workers.contract.conditions import flags
from workers.contract.hardware import DeviceFacts
from workers.contract.host_state import DeviceReading, HostState
from workers.contract.trial import PassSamples

CPU = DeviceFacts(kind="cpu", index=0, name="some CPU", memory_bytes=1)
GPU = DeviceFacts(kind="cuda", index=0, uuid="GPU-1", name="some GPU", memory_bytes=1)

QUIET = HostState(
    window_ns=10**9,
    load_average=(0.1, 0.1),
    num_runnable=(1, 1),
    waited_for_core_ns=10**6,
    others_share=0.01,
    steal_share=0,
    is_flushing_denormals=True,
    grown_bytes=1 << 20,
)

UNKNOWN = PassSamples(step_ns=(100, 100), forward_ns=(50, 50))


def found(
    state: HostState = QUIET, device: DeviceFacts = CPU, *, ranks_here: int = 2, **overrides: object
) -> set[str]:
    asked = point(**overrides)
    raised = flags(asked, device, ENVIRONMENT, state, clean=UNKNOWN, ranks_here=ranks_here)
    assert len(set(raised)) == len(raised)
    assert set(raised) <= set(MEANINGS), "every flag has words"
    return set(raised)


def but(**overrides: object) -> HostState:
    return HostState.model_validate(QUIET.model_dump() | overrides)


def on_gpu(before: DeviceReading, after: DeviceReading, **overrides: object) -> set[str]:
    overrides = {"grown_bytes": 0, "device": (before, after), **overrides}
    return found(HostState.model_validate(QUIET.model_dump() | overrides), GPU)


def test_a_quiet_host_raises_nothing() -> None:
    assert found() == set()


@pytest.mark.parametrize(
    ("state", "flag"),
    [
        (but(waited_for_core_ns=60_000_000), "busy_host"),
        (but(others_share=0.1), "busy_host"),
        (but(steal_share=0.1), "busy_host"),
        (but(is_flushing_denormals=False), "denormals_not_flushed"),
        (but(grown_bytes=9 << 20), "allocator_grew"),
    ],
)
def test_what_disturbs_a_cpu_is_named(state: HostState, flag: str) -> None:
    assert found(state) == {flag}


def test_a_share_that_a_clock_tick_explains_is_nobodys_fault() -> None:
    """Two ticks in a tenth of a second look like a fifth of it."""
    assert found(but(window_ns=10**8, others_share=0.2, waited_for_core_ns=0)) == set()
    assert found(but(window_ns=10**8, others_share=0.3, waited_for_core_ns=0)) == {"busy_host"}


def test_what_the_kernel_does_not_say_is_not_held_against_anyone() -> None:
    assert found(but(waited_for_core_ns=None, others_share=None, steal_share=None)) == set()


def test_ranks_that_share_a_core_are_not_blamed_on_others() -> None:
    disturbed = but(waited_for_core_ns=5 * 10**8, others_share=0.5)
    assert found(disturbed, tp_degree=4, ranks_here=4) == {"oversubscribed"}


def test_ranks_of_other_hosts_take_no_core_here_and_excuse_nobody() -> None:
    disturbed = but(waited_for_core_ns=5 * 10**8, others_share=0.5)
    assert found(disturbed, tp_degree=4, ranks_here=2) == {"busy_host"}


def test_gloo_without_raised_threads_and_nice_processes_are_named() -> None:
    environment = ENVIRONMENT.model_copy(update={"realtime_io": False, "niceness": 5})
    raised = flags(point(), CPU, environment, QUIET, clean=UNKNOWN, ranks_here=2)
    assert set(raised) == {"scheduler_noise", "low_priority"}
    over = point(collective_impl=CollectiveImpl.SHARED_MEMORY)
    raised = flags(over, CPU, environment, QUIET, clean=UNKNOWN, ranks_here=2)
    assert set(raised) == {"low_priority"}


def test_copied_heads_are_named_where_there_are_heads() -> None:
    model = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
    }
    assert found(model=model, block="attention") == {"kv_heads_replicated"}
    assert found(model=model) == set()


def test_a_device_must_not_take_memory_during_timed_steps() -> None:
    reading = DeviceReading()
    assert on_gpu(reading, reading) == set()
    assert on_gpu(reading, reading, grown_bytes=1) == {"allocator_grew"}


def test_heat_and_power_by_reason_or_by_counter_are_throttling() -> None:
    def counted(throttled_ns: int) -> DeviceReading:
        return DeviceReading(throttle_reasons=(), throttled_ns=throttled_ns)

    assert on_gpu(counted(5 * 10**8), counted(5 * 10**8 + 9_000_000)) == set()
    assert on_gpu(counted(5 * 10**8), counted(5 * 10**8 + 11_000_000)) == {"throttled"}
    capped = DeviceReading(throttle_reasons=("power_cap",))
    assert on_gpu(DeviceReading(throttle_reasons=()), capped) == {"throttled"}


def test_another_process_on_the_device_is_named() -> None:
    alone, shared = DeviceReading(num_other_processes=0), DeviceReading(num_other_processes=1)
    assert on_gpu(alone, alone) == set()
    assert on_gpu(alone, shared) == {"shared_device"}


@pytest.mark.parametrize(("enqueue_ns", "is_bound"), [((94, 94), False), ((95, 95), True)])
def test_a_step_that_takes_as_long_to_start_as_to_run_is_launch_bound(
    enqueue_ns: tuple[int, ...], *, is_bound: bool
) -> None:
    clean = UNKNOWN.model_copy(update={"enqueue_ns": enqueue_ns})
    state = but(grown_bytes=0)

    def raised(clean: PassSamples) -> tuple[str, ...]:
        return flags(point(), GPU, ENVIRONMENT, state, clean=clean, ranks_here=2)

    assert raised(clean) == ("launch_bound",) * is_bound
    assert raised(UNKNOWN) == ()
    assert "launch_bound" in MEANINGS
