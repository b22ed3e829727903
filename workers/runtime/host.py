"""What can be known of a host without loading torch."""

import importlib.util
import os
import platform
import runpy
import socket
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from workers.contract.hardware import Environment
from workers.runtime.scheduling import usable_cores

RECORDED_VARIABLES = (
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_VISIBLE_DEVICES",
    "GLOO_SOCKET_IFNAME",
    "MALLOC_ARENA_MAX",
    "MKL_NUM_THREADS",
    "NCCL_ALGO",
    "NCCL_CUMEM_ENABLE",
    "NCCL_DEBUG",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_MAX_CTAS",
    "NCCL_MIN_CTAS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_PROTO",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_IFNAME",
    "OMP_NUM_THREADS",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
)
"""Variables that change what is measured. An allow-list: the rest may hold secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchFacts:
    """What a process's torch is, and how it is set."""

    version: str
    cuda: str | None
    nccl: str | None
    num_threads: int
    flush_denormal: bool


def environment(
    torch: TorchFacts, *, backend: str, realtime_io: bool, num_cores: int | None = None
) -> Environment:
    """What this process runs on, as recorded beside each result.

    `num_cores` is what it could run on before it was pinned, where it was.
    """
    return Environment(
        hostname=socket.gethostname(),
        os=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        python=".".join(map(str, sys.version_info[:3])),
        torch=torch.version,
        cuda=torch.cuda,
        nccl=torch.nccl,
        driver=_driver_version(),
        ray=_version_of("ray"),
        backend=backend,
        cpu_model=cpu_model(),
        num_cores=num_cores or len(usable_cores()),
        num_threads=torch.num_threads,
        realtime_io=realtime_io,
        flush_denormal=torch.flush_denormal,
        niceness=os.getpriority(os.PRIO_PROCESS, 0),
        variables={name: os.environ[name] for name in RECORDED_VARIABLES if name in os.environ},
        load_average=load_average(),
    )


def torch_for_cpus() -> TorchFacts | None:
    """Facts of the installed torch where it was built without GPUs, as its CPU ranks set it.

    Read from its file of versions: to load it takes seconds. None for any other build, which alone
    knows whether it finds a GPU.
    """
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return None
    build = runpy.run_path(str(Path(found.origin).with_name("version.py")))
    if any(build.get(kind) is not None for kind in ("cuda", "hip", "xpu")):
        return None
    return TorchFacts(
        version=build["__version__"], cuda=None, nccl=None, num_threads=1, flush_denormal=True
    )


def load_average() -> float:
    """Of the last minute."""
    return round(os.getloadavg()[0], 2)


def cpu_model() -> str:
    """Model name as the kernel knows it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def clock_identity() -> str:
    """Processes with the same answer share one monotonic clock: same boot of the same kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _driver_version() -> str | None:
    path = Path("/proc/driver/nvidia/version")
    if not path.exists():
        return None
    words = path.read_text().splitlines()[0].split()
    return next((word for word in words if word[0].isdigit() and "." in word), None)


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
