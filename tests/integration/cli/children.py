"""Children for a supervisor to look after, `children.py ROLE`. Imports little: they start often."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

TIDY_UP = (
    "import pathlib, sys, time; sys.stdin.read(); time.sleep(.2); pathlib.Path(sys.argv[1]).touch()"
)


def _sleep(*held: object) -> None:
    """Sleep for good, with what must not be closed before."""
    del held
    print("sleeping", flush=True)  # noqa: T201 - a test reads it
    while True:
        time.sleep(60)


def polite() -> None:
    """Stop at SIGTERM, and say so."""

    def stop(number: int, frame: object) -> None:
        del number, frame
        print("stopped politely", flush=True)  # noqa: T201 - a test reads it
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    _sleep()


def stubborn() -> None:
    """Ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _sleep()


def prolific() -> None:
    """Leave processes behind: one in the group, and one whose parent is gone, in its own."""
    sleep = [sys.executable, __file__, "polite"]
    subprocess.Popen(sleep)
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"import subprocess as s; s.Popen({sleep!r}, start_new_session=True)",
        ],
        check=True,
    )
    _sleep()


def tidied() -> None:
    """Have somebody who sees the end of it and cleans up, in a process group of its own."""
    tidier = [sys.executable, "-c", TIDY_UP, os.environ["TIDIED"]]
    quiet = subprocess.DEVNULL
    _sleep(
        subprocess.Popen(tidier, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, process_group=0)
    )


def misconfigured() -> None:
    """Say that it cannot work as things are."""
    print("no such database", flush=True)  # noqa: T201 - a test reads it
    sys.exit(78)


def dying() -> None:
    """Die at once."""
    os.kill(os.getpid(), signal.SIGKILL)


ROLES: Mapping[str, Callable[[], None]] = {
    "polite": polite,
    "stubborn": stubborn,
    "prolific": prolific,
    "tidied": tidied,
    "misconfigured": misconfigured,
    "dying": dying,
}


if __name__ == "__main__":
    ROLES[sys.argv[1]]()
