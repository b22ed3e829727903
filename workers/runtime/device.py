import ctypes
import os
import resource
from pathlib import Path

import pynvml
import torch

from workers.contract.errors import DeviceMismatchError
from workers.contract.group import RankSetup
from workers.contract.hardware import DeviceFacts
from workers.runtime.host import cpu_model
from workers.runtime.host_memory import available_bytes, memory_bytes
from workers.runtime.nvml import physical_index
from workers.runtime.scheduling import pin

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Of glibc's malloc.h: how much may lie free at the heap's end, how many blocks are mapped."""
LARGEST_THRESHOLD = 2**31 - 1

SHARE_OF_HOST = 0.5
"""Of the memory that is free on a host, what its ranks' proofs may take: others live there too."""


def select(setup: RankSetup) -> tuple[torch.device, DeviceFacts]:
    """Make the reserved device this process's own, before anything else touches one.

    A GPU is chosen by its place among all that the host shows, never by masking the others: a mask
    slows NCCL's first collectives down and confuses its NVLS ranks (ray#61073, nccl#1749).
    """
    if setup.device_kind == "cpu":
        pin(setup.device_index)
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        keep_freed_memory()
        facts = DeviceFacts(
            kind="cpu", index=setup.device_index, name=cpu_model(), memory_bytes=memory_bytes()
        )
        return torch.device("cpu"), facts
    device = torch.device("cuda", setup.device_index)
    torch.cuda.set_device(device)
    properties = torch.cuda.get_device_properties(device)
    uuid = f"GPU-{properties.uuid}"
    if setup.expected_uuid and setup.expected_uuid != uuid:
        msg = f"rank {setup.rank} was given {setup.expected_uuid} but index "
        msg += f"{setup.device_index} is {uuid}; is CUDA_DEVICE_ORDER the same everywhere?"
        raise DeviceMismatchError(msg)
    number = physical_index(pynvml, uuid)  # without NVML nvidia-smi has no matrix to look it up in
    facts = DeviceFacts(
        kind="cuda",
        index=setup.device_index if number is None else number,
        uuid=uuid,
        name=properties.name,
        memory_bytes=properties.total_memory,
    )
    return device, facts


def free_bytes(device: torch.device, *, ranks_here: int) -> int:
    """Return what one rank's proof may take: its device's free memory, or its share of the host's.

    `ranks_here` sit on its host, this one among them.
    """
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    return int(available_bytes() * SHARE_OF_HOST / ranks_here)


class PeakMemory:
    """Peak bytes since construction.

    On a GPU, of what was allocated since; on a CPU, of all that is resident in the process.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = 0
        if device.type == "cuda":
            self._before = torch.cuda.memory_allocated(device)
            torch.cuda.reset_peak_memory_stats(device)
        elif os.access("/proc/self/clear_refs", os.W_OK):
            Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets VmHWM

    def read(self) -> int:
        """Bytes."""
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device) - self._before
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def keep_freed_memory() -> None:
    """Let this process's C allocator keep what is freed, as torch's allocator for a GPU does.

    glibc else gives the end of its heap, and every large block, back at once: each step would take
    the same pages from the kernel anew, a fault and a clearing each. `return_freed_memory` still
    gives them back between points. Another C library keeps its own ways.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, LARGEST_THRESHOLD)


def return_freed_memory(device: torch.device) -> None:
    """Give what the last point left behind back, so that each point starts from the same state."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    else:
        ctypes.CDLL(None).malloc_trim(0)
