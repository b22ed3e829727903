"""Processes that outlive the one that started them: adopted, reaped, and killed at the end."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Collection

import psutil

PR_SET_CHILD_SUBREAPER = 36
GRACE_S, PATIENCE_S = 2, 5


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


def end_orphans(known: Collection[int]) -> None:
    """See that no descendant is left that does not descend from `known`.

    They get a moment first: some are there to clean up after the one that died.
    """
    orphans = _orphans(known)
    psutil.wait_procs(orphans, timeout=GRACE_S)
    while alive := _orphans(known):
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        _, immortal = psutil.wait_procs(alive, timeout=PATIENCE_S)
        if immortal:
            break


def _orphans(known: Collection[int]) -> list[psutil.Process]:
    """Children that are nobody's, with all of theirs."""
    adopted = [child for child in psutil.Process().children() if child.pid not in known]
    return [*adopted, *(kin for child in adopted for kin in _descendants(child))]


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
