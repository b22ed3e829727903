"""One small process on each node that outlives its ranks: it sees how they end, and ends them.

It acts on pidfds, so it never hits a process that took over a number, and it needs no cooperation:
a stopped rank dies at once, where `ray.kill` takes 5 s.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from workers.ray_group.actor import DUMP_SIGNAL
from workers.ray_group.last_words import (
    LastWords,
    host_oom_kills,
    kernel_tells_status,
    split_status,
    tail,
    wait_status,
)

STACKS_WITHIN_S = 1.0
_POLL_S = 0.01
_QUIET_LOOKS = 5
_DYING_WITHIN_S = 1.0


@dataclass(frozen=True, slots=True)
class _Watched:
    pidfd: int
    log_path: Path
    oom_kills_before: int


class NodeAgent:
    """Actor with several threads: one may wait for processes to end while another reads logs."""

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}

    def watch(self, logs: Mapping[int, str]) -> None:
        """Take note of processes (pid -> log path) while they live."""
        for pid, log_path in logs.items():
            with contextlib.suppress(ProcessLookupError):
                self._watched[pid] = _Watched(
                    pidfd=os.pidfd_open(pid),
                    log_path=Path(log_path),
                    oom_kills_before=host_oom_kills(),
                )

    def examine(
        self, pids: Sequence[int], *, died: Sequence[int], hung: Sequence[int]
    ) -> list[LastWords]:
        """What became of each process.

        Those said to have died are waited for: a connection closes before its process is gone.
        Those that hang are made to write their stacks.
        """
        self._wait_for(died, within_s=_DYING_WITHIN_S)
        _wait_until_written(self._ask_for_stacks(hung))
        return [self._last_words(pid) for pid in pids]

    def end(self, pids: Sequence[int], *, within_s: float) -> list[int]:
        """Kill each process and wait until it is gone; return those that are not."""
        for pid in pids:
            self._send(pid, signal.SIGKILL)
        left = self._wait_for(pids, within_s=within_s)
        for pid in pids:
            if pid in self._watched and pid not in left:
                os.close(self._watched.pop(pid).pidfd)
        return left

    def _wait_for(self, pids: Sequence[int], *, within_s: float) -> list[int]:
        """Return those that are still there in the end."""
        deadline = time.monotonic() + within_s
        left = [pid for pid in pids if pid in self._watched and not self._has_ended(pid)]
        while left and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            left = [pid for pid in left if not self._has_ended(pid)]
        return left

    def _last_words(self, pid: int) -> LastWords:
        watched = self._watched.get(pid)
        if watched is None:
            return LastWords(pid=pid, is_alive=Path(f"/proc/{pid}").exists())
        has_ended = self._has_ended(pid)
        signal_number, exit_code = split_status(_status(watched.pidfd) if has_ended else None)
        stacks = [tail(watched.log_path.with_suffix(suffix)) for suffix in (".stacks", ".dump")]
        return LastWords(
            pid=pid,
            is_alive=not has_ended,
            state="" if has_ended else _state(pid),
            signal=signal_number,
            exit_code=exit_code,
            log_tail=tail(watched.log_path),
            stacks="\n".join(text for text in stacks if text),
            num_host_oom_kills=host_oom_kills() - watched.oom_kills_before,
        )

    def _ask_for_stacks(self, pids: Sequence[int]) -> dict[Path, int]:
        """Signal those that can answer; where they will write, and how much is there already."""
        sizes = {}
        for pid in pids:
            watched = self._watched.get(pid)
            if watched is None or _state(pid) == psutil.STATUS_STOPPED:
                continue
            dump = watched.log_path.with_suffix(".dump")
            if dump.exists():  # else no handler is installed yet: the signal would kill
                sizes[dump] = dump.stat().st_size
                self._send(pid, DUMP_SIGNAL)
        return sizes

    def _has_ended(self, pid: int) -> bool:
        readable, _, _ = select.select([self._watched[pid].pidfd], [], [], 0)
        return bool(readable)

    def _send(self, pid: int, number: signal.Signals) -> None:
        if watched := self._watched.get(pid):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched.pidfd, number)


def _wait_until_written(sizes: Mapping[Path, int]) -> None:
    """The handler writes line by line: it is done when nothing was added for a few looks."""
    deadline = time.monotonic() + STACKS_WITHIN_S
    for dump, before in sizes.items():
        size, num_quiet = before, 0
        while num_quiet < _QUIET_LOOKS and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            now = dump.stat().st_size
            num_quiet = num_quiet + 1 if now == size != before else 0
            size = now


def _status(pidfd: int) -> int | None:
    """The status appears when the parent has reaped the process, a moment after it ended."""
    deadline = time.monotonic() + 1
    status = wait_status(pidfd)
    while status is None and kernel_tells_status() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        status = wait_status(pidfd)
    return status


def _state(pid: int) -> str:
    try:
        return psutil.Process(pid).status()
    except psutil.Error:
        return ""
