"""Other processes, any of which may end while it is looked at."""

from collections.abc import Iterable
from contextlib import suppress

import psutil

RANK = "ray::RankActor"


def command_lines(processes: Iterable[psutil.Process]) -> dict[int, list[str]]:
    """Of those that run; one that has ended may still wait for its parent to notice."""
    found = {}
    for process in processes:
        with suppress(psutil.Error):
            found[process.pid] = process.cmdline()
    return found


def rank_pids(parent: psutil.Process) -> tuple[int, ...]:
    """Ranks among the descendants of a process."""
    commands = command_lines(parent.children(recursive=True))
    return tuple(pid for pid, words in commands.items() if "".join(words[:1]).startswith(RANK))
