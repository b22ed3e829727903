import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from workers.contract.host_state import DeviceReading, HostState
from workers.runtime.host import load_average
from workers.runtime.loaded_torch import flushes_denormals

NS_PER_TICK = 10**9 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Kernel:
    """What /proc/stat says: where a core's time went since boot, and who wants one now."""

    busy_ns: int
    steal_ns: int
    num_runnable: int


@dataclass(frozen=True, slots=True)
class Look:
    """Counters and readings of one moment, as the measuring thread sees them."""

    at_ns: int
    load_average: float
    process_cpu_ns: int
    thread_cpu_ns: int
    waited_ns: int | None
    kernel: Kernel | None
    memory_bytes: int
    device: DeviceReading | None


class HostWatch:
    """Looks at the host just before and just after the timed steps of a trial."""

    def __init__(
        self,
        device: torch.device,
        *,
        read_device: Callable[[], DeviceReading | None] = lambda: None,
        proc: Path = Path("/proc"),
    ) -> None:
        self._device = device
        self._read_device = read_device
        self._proc = proc

    def look(self) -> Look:
        """Take one look; a seventh of a millisecond on a small host."""
        return Look(
            at_ns=time.perf_counter_ns(),
            load_average=load_average(),
            process_cpu_ns=time.process_time_ns(),
            thread_cpu_ns=time.thread_time_ns(),
            waited_ns=_waited_ns(self._proc),
            kernel=_kernel(self._proc),
            memory_bytes=self._memory_bytes(),
            device=self._read_device(),
        )

    def between(self, before: Look, after: Look) -> HostState:
        """Say what passed between two looks."""
        window_ns = max(1, after.at_ns - before.at_ns)
        own_ns = after.process_cpu_ns - before.process_cpu_ns
        is_pinned = len(os.sched_getaffinity(0)) == 1
        num_cores = 1 if is_pinned else os.cpu_count() or 1
        num_runnable = others = steal = None
        if before.kernel and after.kernel:
            num_runnable = (before.kernel.num_runnable, after.kernel.num_runnable)
            steal_ns = after.kernel.steal_ns - before.kernel.steal_ns
            steal = min(1.0, steal_ns / window_ns / num_cores)
            others_ns = after.kernel.busy_ns - before.kernel.busy_ns - own_ns
            others = min(1.0, max(0.0, others_ns / window_ns)) if is_pinned else None
        return HostState(
            window_ns=window_ns,
            load_average=(before.load_average, after.load_average),
            num_runnable=num_runnable,
            waited_for_core_ns=_waited_for_others(before, after),
            others_share=others,
            steal_share=steal,
            is_flushing_denormals=flushes_denormals(),
            grown_bytes=max(0, after.memory_bytes - before.memory_bytes),
            device=(before.device, after.device) if before.device and after.device else None,
        )

    def _memory_bytes(self) -> int:
        if self._device.type == "cuda":
            return torch.cuda.memory_reserved(self._device)
        pages = int((self._proc / "self/statm").read_text().split()[1])
        return pages * resource.getpagesize()


def _waited_for_others(before: Look, after: Look) -> int | None:
    """Time in the core's queue, less what this process's other threads ran meanwhile.

    Those are gloo's: they may have been what was waited for, so this is a lower bound.
    """
    if before.waited_ns is None or after.waited_ns is None:
        return None
    process_ns = after.process_cpu_ns - before.process_cpu_ns
    thread_ns = after.thread_cpu_ns - before.thread_cpu_ns
    return max(0, after.waited_ns - before.waited_ns - max(0, process_ns - thread_ns))


def _waited_ns(proc: Path) -> int | None:
    """Second word of the thread's schedstat: time it was runnable and not run (Linux)."""
    path = proc / f"self/task/{threading.get_native_id()}/schedstat"
    try:
        return int(path.read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None  # the kernel keeps no such statistics


def _kernel(proc: Path) -> Kernel | None:
    """Of the core this thread is pinned to, else of all together.

    Columns: user nice system idle iowait irq softirq steal, in USER_HZ (proc(5)).
    """
    cores = os.sched_getaffinity(0)
    name = f"cpu{next(iter(cores))}" if len(cores) == 1 else "cpu"
    try:
        lines = (proc / "stat").read_text().splitlines()
        words = {line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1] for line in lines}
        user, nice, system, _, _, irq, softirq, steal = map(int, words[name].split()[:8])
        running = int(words["procs_running"])
    except (OSError, ValueError, KeyError):
        return None
    busy = user + nice + system + irq + softirq + steal
    return Kernel(
        busy_ns=busy * NS_PER_TICK,
        steal_ns=steal * NS_PER_TICK,
        num_runnable=max(0, running - 1),
    )
