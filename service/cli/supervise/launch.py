"""`python -m service.cli.supervise.launch PARENT ARGUMENT...`: become `python ARGUMENT...`.

Before that it asks Linux to kill this process when its parent ends, which survives the exec. So a
supervisor that is killed outright leaves nobody behind. SIGKILL rather than SIGTERM: a child that
hangs would ignore anything else, and all state is in rows. Other systems have no such request.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent and replace it by what it was asked to be."""
    parent, *arguments = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("the supervisor ended before its child began")
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
