"""How a process ended, asked of the kernel; and what it left in its files.

Ray says only that a worker's connection closed. A pidfd held since before keeps the exit status,
also for a process that is not our child (ioctl PIDFD_GET_INFO, Linux 6.15).
"""

import contextlib
import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

TAIL_BYTES = 64 * 1024

_PIDFD_INFO_BYTES = 64
_PIDFD_INFO_EXIT = 1 << 3
_PIDFD_GET_INFO = (3 << 30) | (_PIDFD_INFO_BYTES << 16) | (0xFF << 8) | 11
_EXIT_CODE_OFFSET = 60  # struct pidfd_info, last field of its first version


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """What is known of one process."""

    pid: int
    is_alive: bool
    state: str = ""
    """Of a living process: running, sleeping, stopped, disk-sleep (which no signal ends) …"""
    signal: int | None = None
    exit_code: int | None = None
    """None where a signal ended it, it lives, or the kernel is too old to say."""
    log_tail: str = ""
    stacks: str = ""
    num_host_oom_kills: int = 0
    """Processes the host's kernel has killed for memory since the rank was first seen."""


def wait_status(pidfd: int) -> int | None:
    """Status as waitpid would give it, once the parent has reaped the process; else None."""
    info = bytearray(_PIDFD_INFO_BYTES)
    struct.pack_into("Q", info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    (mask,) = struct.unpack_from("Q", info, 0)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    (status,) = struct.unpack_from("i", info, _EXIT_CODE_OFFSET)
    return int(status)


def kernel_tells_status() -> bool:
    """Whether `wait_status` can ever answer here."""
    pidfd = os.pidfd_open(os.getpid())
    info = bytearray(_PIDFD_INFO_BYTES)
    struct.pack_into("Q", info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return False
    finally:
        os.close(pidfd)
    return True


def split_status(status: int | None) -> tuple[int | None, int | None]:
    """(signal, exit code) of a wait status."""
    if status is None:
        return None, None
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status), None
    return None, os.waitstatus_to_exitcode(status)


def tail(path: Path, *, limit_bytes: int = TAIL_BYTES) -> str:
    """The file's last part; empty where there is none."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit_bytes))
        return file.read(limit_bytes).decode(errors="replace").replace("\x00", "")
    return ""


def host_oom_kills() -> int:
    """Count of the kernel's out-of-memory kills since boot."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
