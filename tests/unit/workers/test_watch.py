"""Two looks at a host of files, and at this one."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from workers.contract.host_state import DeviceReading
from workers.runtime.loaded_torch import flushes_denormals
from workers.runtime.watch import NS_PER_TICK, HostWatch, Look

CPU = torch.device("cpu")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    own = tmp_path / "self"
    task = own / "task" / str(threading.get_native_id())
    task.mkdir(parents=True)
    (own / "statm").write_text("900 10 3 1 0 5 0\n")
    write(tmp_path, busy=100, steal=2, running=3, waited_ns=50_000_000)
    return tmp_path


def write(proc: Path, *, busy: int, steal: int, running: int, waited_ns: int) -> None:
    task = proc / "self" / "task" / str(threading.get_native_id())
    (task / "schedstat").write_text(f"123 {waited_ns} 9\n")
    counters = f"{busy} 0 0 5000 7 0 0 {steal} 0 0"
    cores = "".join(f"cpu{core} {counters}\n" for core in sorted(os.sched_getaffinity(0)))
    (proc / "stat").write_text(f"cpu  {counters}\n{cores}procs_running {running}\n")


def looks(watch: HostWatch, proc: Path) -> tuple[Look, Look]:
    """Two looks a second apart; others took 20 ticks, 5 of them were stolen, and we ran 0.5 s."""
    before = watch.look()
    write(proc, busy=165, steal=7, running=5, waited_ns=290_000_000)
    after = replace(
        watch.look(),
        at_ns=before.at_ns + 10**9,
        process_cpu_ns=before.process_cpu_ns + 5 * 10**8,
        thread_cpu_ns=before.thread_cpu_ns + 4 * 10**8,
    )
    return before, after


def test_what_others_took_of_the_core_is_told_from_what_was_ones_own(proc: Path) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        watch = HostWatch(CPU, proc=proc)
        state = watch.between(*looks(watch, proc))
    finally:
        os.sched_setaffinity(0, allowed)
    assert NS_PER_TICK == 10**7
    assert state.window_ns == 10**9
    assert state.others_share == pytest.approx(0.70 - 0.50)
    assert state.steal_share == pytest.approx(0.05)
    assert state.num_runnable == (2, 4)
    assert state.waited_for_core_ns == 140_000_000, "of 240 ms, 100 may be our other threads'"
    assert state.grown_bytes == 0


def test_a_rank_that_is_pinned_to_no_core_cannot_say_what_others_took(proc: Path) -> None:
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("this process may use one core only")
    watch = HostWatch(CPU, proc=proc)
    assert watch.between(*looks(watch, proc)).others_share is None


def test_a_kernel_without_statistics_leaves_them_out(proc: Path) -> None:
    (proc / "stat").unlink()
    (proc / "self" / "task" / str(threading.get_native_id()) / "schedstat").unlink()
    watch = HostWatch(CPU, proc=proc)
    state = watch.between(watch.look(), watch.look())
    assert (state.waited_for_core_ns, state.others_share, state.steal_share) == (None, None, None)
    assert state.num_runnable is None


def test_memory_that_was_taken_meanwhile_is_seen(proc: Path) -> None:
    watch = HostWatch(CPU, proc=proc)
    before = watch.look()
    (proc / "self" / "statm").write_text("900 4106 3 1 0 5 0\n")
    assert watch.between(before, watch.look()).grown_bytes == 4096 * os.sysconf("SC_PAGE_SIZE")


def test_a_device_is_read_before_and_after(proc: Path) -> None:
    readings = iter([DeviceReading(sm_clock_mhz=300), DeviceReading(sm_clock_mhz=1900)])
    watch = HostWatch(CPU, proc=proc, read_device=lambda: next(readings))
    state = watch.between(watch.look(), watch.look())
    assert state.device is not None
    assert [reading.sm_clock_mhz for reading in state.device] == [300, 1900]


def test_this_host_can_be_looked_at() -> None:
    watch = HostWatch(CPU)
    state = watch.between(watch.look(), watch.look())
    assert state.window_ns > 0
    assert state.device is None


def test_whether_denormals_are_flushed_is_tried_out() -> None:
    was = flushes_denormals()
    try:
        for wanted in (True, False):
            if not torch.set_flush_denormal(wanted):
                pytest.skip("this processor cannot flush them")
            assert flushes_denormals() is wanted
    finally:
        torch.set_flush_denormal(was)
