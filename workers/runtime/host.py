import os
import platform
import socket
import sys
from importlib import metadata
from pathlib import Path

import torch

from workers.contract.hardware import Environment

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


def environment(*, backend: str, realtime_io: bool) -> Environment:
    """What this process runs on, as recorded beside each result."""
    has_gpu = torch.cuda.is_available()
    return Environment(
        hostname=socket.gethostname(),
        os=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        python=".".join(map(str, sys.version_info[:3])),
        torch=torch.__version__,
        cuda=torch.version.cuda if has_gpu else None,
        nccl=_nccl_version() if has_gpu else None,
        driver=_driver_version(),
        ray=_version_of("ray"),
        backend=backend,
        cpu_model=cpu_model(),
        num_cores=os.cpu_count() or 1,
        num_threads=torch.get_num_threads(),
        realtime_io=realtime_io,
        flush_denormal=flushes_denormals(),
        niceness=os.getpriority(os.PRIO_PROCESS, 0),
        variables={name: os.environ[name] for name in RECORDED_VARIABLES if name in os.environ},
        load_average=load_average(),
    )


def load_average() -> float:
    """Of the last minute."""
    return round(os.getloadavg()[0], 2)


def flushes_denormals() -> bool:
    """Whether this thread's arithmetic takes what is too small for a normal float as zero."""
    return bool(torch.tensor(1e-39).mul(1.0) == 0)


def cpu_model() -> str:
    """Model name as the kernel knows it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_bytes() -> int:
    """Physical memory of the host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def clock_identity() -> str:
    """Processes with the same answer share one monotonic clock: same boot of the same kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _nccl_version() -> str:
    return ".".join(map(str, torch.cuda.nccl.version()))


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
