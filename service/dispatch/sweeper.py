"""`python -m service.dispatch.sweeper MARK DIRECTORY`: kills what a dead dispatcher's Ray left.

It waits for the end of its input, which is the dispatcher's end however it came. Ray's own agents
and monitors live on for minutes when they lose their parent. All of them carry the mark in their
environment, but those that write a title over it (setproctitle) may lose it there; all of these
keep files of Ray's directory open. Plain standard library: it starts fast and weighs little.
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
RAY_TITLE = b"ray::"


def main() -> None:
    """Wait, kill, delete."""
    mark, directory = sys.argv[1:3]
    dispatcher = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    time.sleep(GRACE_S)
    sweep(mark, directory, spare={os.getpid(), dispatcher})  # it may be waiting for us
    shutil.rmtree(directory, ignore_errors=True)


def sweep(mark: str, directory: str, *, spare: set[int]) -> None:
    """Kill every process with the mark, or at work in the directory, until none is left."""
    deadline = time.monotonic() + GIVE_UP_AFTER_S
    while (pids := marked(mark, directory) - spare) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(LOOK_EVERY_S)


def marked(mark: str, directory: str) -> set[int]:
    """Processes whose environment has the mark, and Ray's with a file of the directory open."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if mark.encode() in (entry / "environ").read_bytes() or _is_in(directory, entry):
                    found.add(int(entry.name))
    return found


def _is_in(directory: str, process: Path) -> bool:
    if not (process / "cmdline").read_bytes().startswith(RAY_TITLE):
        return False  # it may be somebody who reads a log
    for link in (process / "fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            if str(link.readlink()).startswith(f"{directory}/"):  # also when it is deleted
                return True
    return False


if __name__ == "__main__":
    main()
