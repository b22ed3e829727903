import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Report = Callable[[str, str], None]
"""Takes who speaks and one line of what is said."""

FIRST_DELAY_S, LARGEST_DELAY_S, HEALTHY_S = 1.0, 30.0, 60.0
KILL_TAKES_S = 5
"""What a process may need to die of SIGKILL, in the kernel."""


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A process that is to run: its name in the log and the arguments after `python`."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """On top of the supervisor's own."""
    niceness: int = 0
    """Added to the supervisor's own: above 0 it lets everything else go first."""


def restart_delay_s(*, num_failures: int) -> float:
    """1, 2, 4 ... 30 s after the first, second, third ... death in a row."""
    return min(FIRST_DELAY_S * float(2 ** min(num_failures - 1, 5)), LARGEST_DELAY_S)


class Child:
    """One running process with its own session, so that Ctrl-C reaches only the supervisor.

    Dies with the thread that made it (`launch`): make it from one that lives as long.
    """

    def __init__(self, spec: ChildSpec, *, report: Report, started_at: float) -> None:
        self.spec = spec
        self.started_at = started_at
        launcher = [sys.executable, "-m", "service.cli.supervise.launch", str(os.getpid())]
        self._process = subprocess.Popen(  # noqa: S603 - our own modules
            [*launcher, *spec.arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **spec.environment},
            start_new_session=True,
        )
        if spec.niceness:
            niceness = os.getpriority(os.PRIO_PROCESS, 0) + spec.niceness
            os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        self._reader = threading.Thread(target=self._pass_on, args=(report,), daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id, and that of the process group."""
        return self._process.pid

    def poll(self) -> int | None:
        """Exit status once it has ended, as subprocess gives it: -9 for SIGKILL."""
        return self._process.poll()

    def terminate(self) -> None:
        """Ask it to stop; it looks after its own children."""
        self._process.terminate()

    def kill_group(self) -> None:
        """Kill it and all of its process group, also what it left behind."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def finish(self) -> None:
        """Wait for the end, then for the last of its output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=KILL_TAKES_S)
        self._reader.join(timeout=1)

    def _pass_on(self, report: Report) -> None:
        if self._process.stdout is None:
            return
        with self._process.stdout as stream:
            for line in stream:
                report(self.spec.name, line.decode("utf-8", "replace").rstrip("\r\n"))
