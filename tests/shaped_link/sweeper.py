"""`python -m tests.shaped_link.sweeper NAMESPACE NAMESPACE DIRECTORY`: removes what a demo leaves.

It waits for the end of its input, which is the demo's end however it came. What runs in a namespace
is found by the namespace, so nothing else is ever hit. Plain standard library.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PREFIX = "tpsweep-link-"
GIVE_UP_AFTER_S = 15.0


def main() -> None:
    """Wait, then remove."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    *namespaces, directory = sys.argv[1:]
    sys.stdin.buffer.read()
    remove(namespaces)
    shutil.rmtree(directory, ignore_errors=True)


def remove(namespaces: list[str]) -> None:
    """Kill all that runs in them and delete them; the veth between them goes along."""
    for namespace in namespaces:
        deadline = time.monotonic() + GIVE_UP_AFTER_S
        while (pids := pids_in(namespace)) and time.monotonic() < deadline:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)


def remove_stale() -> None:
    """Remove the namespaces of demos that are dead, and of their sweepers."""
    stale = [name for name in known() if not _is_alive(name)]
    remove(stale)


def known() -> list[str]:
    """Namespaces of demos."""
    listed = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True)
    names = [line.split()[0] for line in listed.stdout.splitlines() if line]
    return [name for name in names if name.startswith(PREFIX)]


def pids_in(namespace: str) -> list[int]:
    """Processes in a namespace; none where it is gone."""
    listed = subprocess.run(
        ["ip", "netns", "pids", namespace], check=False, capture_output=True, text=True
    )
    return [int(pid) for pid in listed.stdout.split()]


def name_of(pid: int, host: str) -> str:
    """Name a demo's namespace so that others can tell whether the demo lives."""
    return f"{PREFIX}{pid}-{_started(pid)}-{host}"


def _is_alive(namespace: str) -> bool:
    pid, started, _ = namespace.removeprefix(PREFIX).split("-")
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    """In clock ticks since boot; empty where there is no such process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


if __name__ == "__main__":
    main()
