"""Who holds a lease: a name that is never used twice, and that tells its own host of its death."""

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil


@dataclass(frozen=True, slots=True)
class Owner:
    """One start of one dispatcher process."""

    host: str
    """Name, boot and pid namespace: within these a pid and its start time name one process."""
    pid: int
    started: str
    nonce: str

    @classmethod
    def of_this_process(cls) -> Self:
        """A new one at every call."""
        return cls(
            host=_host(),
            pid=os.getpid(),
            started=_start_time(os.getpid()) or "",
            nonce=secrets.token_hex(4),
        )

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The owner that `str` gave, or None where somebody else wrote it."""
        parts = text.rsplit("/", 3)
        if len(parts) != 4 or not parts[1].isdigit():  # noqa: PLR2004 - the fields above
            return None
        host, pid, started, nonce = parts
        return cls(host=host, pid=int(pid), started=started, nonce=nonce)

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}/{self.started}/{self.nonce}"

    @property
    def is_known_dead(self) -> bool:
        """Whether this host can say for sure that the process is gone."""
        return self.host == _host() and _start_time(self.pid) != self.started


def _host() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    pids = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    return f"{socket.gethostname()[:100]}/{boot}/{pids}"


def _start_time(pid: int) -> str | None:
    """In clock ticks since boot; None where there is no such process, or only its remains."""
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return None
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, psutil.Error):
        return None
