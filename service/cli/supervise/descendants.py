"""Processes that outlive the one that started them: adopted, reaped, and killed at the end."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Collection

import psutil

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 5


def adopt_orphans() -> None:
    """Make this process the new parent of every descendant whose own parent dies (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans(known: Collection[int]) -> None:
    """Collect the exit status of dead children that are nobody's; `known` have their owner."""
    with contextlib.suppress(ChildProcessError):
        while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if found.si_pid in known:
                return
            os.waitpid(found.si_pid, os.WNOHANG)


def kill_orphans(known: Collection[int]) -> int:
    """Kill all descendants that do not descend from `known`; returns how many there were."""
    num_killed = 0
    while strays := [child for child in psutil.Process().children() if child.pid not in known]:
        doomed = [*strays, *(kin for stray in strays for kin in _descendants(stray))]
        for process in doomed:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        num_killed += len(doomed)
        _, alive = psutil.wait_procs(doomed, timeout=PATIENCE_S)
        if alive:
            break
    return num_killed


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
