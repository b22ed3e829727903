import faulthandler
import threading
import time
from pathlib import Path


class SelfDestruct:
    """Ends this process when its deadline passes, even while the GIL is held or a syscall hangs.

    Two clocks run: the trial's own deadline, and the lease that the dispatcher renews by pinging.
    The earlier one counts. All stacks are written to `stack_path` before the process exits with 1
    (`faulthandler.dump_traceback_later`, which needs no GIL).
    """

    def __init__(self, stack_path: Path) -> None:
        self._file = stack_path.open("w")
        self._lock = threading.Lock()
        self._trial_ends: float | None = None
        self._lease_ends: float | None = None

    def begin_trial(self, limit_s: float) -> None:
        """Start the trial's clock."""
        with self._lock:
            self._trial_ends = time.monotonic() + limit_s
            self._arm()

    def end_trial(self) -> None:
        """Stop the trial's clock; the lease's goes on."""
        with self._lock:
            self._trial_ends = None
            self._arm()

    def renew_lease(self, ttl_s: float) -> None:
        """Set the lease's clock back to `ttl_s` from now; callable from any thread."""
        with self._lock:
            self._lease_ends = time.monotonic() + ttl_s
            self._arm()

    def close(self) -> None:
        """Disarm for good."""
        with self._lock:
            faulthandler.cancel_dump_traceback_later()
            self._file.close()

    def _arm(self) -> None:
        ends = [end for end in (self._trial_ends, self._lease_ends) if end is not None]
        if not ends:
            faulthandler.cancel_dump_traceback_later()
            return
        left = max(0.001, min(ends) - time.monotonic())
        faulthandler.dump_traceback_later(left, exit=True, file=self._file)
