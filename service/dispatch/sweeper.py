"""`python -m service.dispatch.sweeper MARK DIRECTORY`: kills what a dead dispatcher's Ray left.

It waits for the end of its input, which is the dispatcher's end however it came. Ray's own agents
and monitors live on for minutes when they lose their parent; all of them carry the mark in their
environment. Plain standard library: it starts fast and weighs little.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

GRACE_S = 0.3
"""Ray takes most of itself down; what it can end in order is left to it."""
GIVE_UP_AFTER_S = 10.0
LOOK_EVERY_S = 0.1


def main() -> None:
    """Wait, kill, delete."""
    mark, directory = sys.argv[1:3]
    dispatcher = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    time.sleep(GRACE_S)
    sweep(mark, spare={os.getpid(), dispatcher})  # it may be waiting for us
    shutil.rmtree(directory, ignore_errors=True)


def sweep(mark: str, *, spare: set[int]) -> None:
    """Kill every process with the mark until none is left."""
    deadline = time.monotonic() + GIVE_UP_AFTER_S
    while (pids := marked(mark) - spare) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(LOOK_EVERY_S)


def marked(mark: str) -> set[int]:
    """Processes whose environment has the mark."""
    needle = mark.encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if needle in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
    return found


if __name__ == "__main__":
    main()
