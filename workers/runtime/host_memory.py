"""Memory of this host that its processes may take: less than there is, where a cgroup limits them.

A container sees all of the host's memory in /proc/meminfo, and is ended at its own limit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")


@dataclass(frozen=True, slots=True)
class _Names:
    """What a version of cgroups calls its files, and where it keeps them."""

    top: str
    limit: str
    taken: str
    cached: str
    """Word of memory.stat: file pages that the kernel drops before it refuses anything."""


_VERSION_1 = _Names(
    top="sys/fs/cgroup/memory",
    limit="memory.limit_in_bytes",
    taken="memory.usage_in_bytes",
    cached="total_inactive_file",
)
_VERSION_2 = _Names(
    top="sys/fs/cgroup", limit="memory.max", taken="memory.current", cached="inactive_file"
)


def memory_bytes(root: Path = ROOT) -> int:
    """Return what all processes here together may take."""
    limits = [limit for limit, _ in _limits(root)]
    return min([_meminfo(root, "MemTotal"), *limits])


def available_bytes(root: Path = ROOT) -> int:
    """Return what new processes may take before Linux begins to swap, or to end them."""
    left = [max(0, limit - taken) for limit, taken in _limits(root)]
    return min([_meminfo(root, "MemAvailable"), *left])


def _meminfo(root: Path, name: str) -> int:
    lines = (root / "proc/meminfo").read_text().splitlines()
    (kibibytes,) = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(kibibytes) << 10


def _limits(root: Path) -> Iterator[tuple[int, int]]:
    """Yield limit and taken bytes of each cgroup around this process that has a limit.

    Files that cannot be read limit nothing: there are no cgroups, or a container sees another tree
    than its own name for its place in it. Version 1 has a huge number for no limit.
    """
    for names, folder in _folders(root):
        try:
            limit = int((folder / names.limit).read_text())
            taken = int((folder / names.taken).read_text())
            words = dict(map(str.split, (folder / "memory.stat").read_text().splitlines()))
            yield limit, taken - int(words[names.cached])
        except (OSError, ValueError, KeyError):  # ValueError also for "max", which is no limit
            continue


def _folders(root: Path) -> Iterator[tuple[_Names, Path]]:
    """Yield this process's cgroups, each with all those that it is in."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:  # cgroups(7): hierarchy:controllers:path; version 2 names no controllers
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        names = _VERSION_1 if controllers else _VERSION_2
        top, own = root / names.top, root / names.top / path.lstrip("/")
        yield from ((names, folder) for folder in (own, *own.parents) if folder.is_relative_to(top))
