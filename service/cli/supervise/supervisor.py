import signal
import threading
import time
from collections.abc import Callable, Sequence

from service.cli.supervise.child import HEALTHY_S, Child, ChildSpec, Report, restart_delay_s
from service.cli.supervise.descendants import adopt_orphans, end_orphans, reap_orphans

POLL_S = 0.2
EX_CONFIG = 78
"""What a child exits with where starting it again would change nothing."""
SUPERVISOR = "tpsweep"


class Supervisor:
    """Keeps processes running: one that dies is started again, later each time it dies young.

    `run` owns the children from start to end. When it returns, none of them and nothing that they
    started is left.
    """

    def __init__(
        self,
        specs: Sequence[ChildSpec],
        *,
        report: Report,
        patience_s: float = 15,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = [_Slot(spec) for spec in specs]
        self._report = report
        self._patience_s = patience_s
        self._clock = clock
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self.gave_up: str | None = None
        """The child that said it cannot work as things are, whereupon everything stops."""

    def stop(self) -> None:
        """Ask for a clean stop, from any thread or signal handler; again, for a quick one."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    def run(self) -> None:
        """Run the children until `stop`. Call it from a thread that stays until it returns."""
        adopt_orphans()
        try:
            while not self._stopping.is_set():
                for slot in self._slots:
                    self._look_after(slot)
                reap_orphans(self._pids())
                self._stopping.wait(POLL_S)
        finally:
            self._stop_all()

    def _look_after(self, slot: "_Slot") -> None:
        if slot.child is not None and (status := slot.child.poll()) is not None:
            self._bury(slot, slot.child, status)
        if self._stopping.is_set():
            return
        if slot.child is None and self._clock() >= slot.start_at:
            slot.child = Child(slot.spec, report=self._report, started_at=self._clock())
            self._report(SUPERVISOR, f"started {slot.spec.name} (pid {slot.child.pid})")

    def _bury(self, slot: "_Slot", child: Child, status: int) -> None:
        child.kill_group()
        child.finish()
        slot.child = None
        end_orphans(self._pids())
        if status == EX_CONFIG:
            self.gave_up = slot.spec.name
            self._stopping.set()
            return
        lived_s = self._clock() - child.started_at
        slot.num_failures = 1 if lived_s >= HEALTHY_S else slot.num_failures + 1
        delay_s = restart_delay_s(num_failures=slot.num_failures)
        slot.start_at = self._clock() + delay_s
        how = f"{slot.spec.name} {describe_exit(status)} after {lived_s:.0f} s"
        self._report(SUPERVISOR, f"{how}; it starts again in {delay_s:.0f} s")

    def _stop_all(self) -> None:
        running = [slot.child for slot in self._slots if slot.child is not None]
        for child in running:
            if child.poll() is None:
                child.terminate()
        deadline = self._clock() + self._patience_s
        while any(child.poll() is None for child in running) and not self._hurry.is_set():
            if self._clock() >= deadline:
                break
            self._hurry.wait(POLL_S / 4)
        for child in running:
            if child.poll() is None:
                self._report(SUPERVISOR, f"{child.spec.name} did not stop in time and is killed")
            child.kill_group()
            child.finish()
        end_orphans(())

    def _pids(self) -> list[int]:
        return [slot.child.pid for slot in self._slots if slot.child is not None]


class _Slot:
    """The place of one child over its lives."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.child: Child | None = None
        self.num_failures = 0
        self.start_at = 0.0


def describe_exit(status: int) -> str:
    """Say how a process ended: `was killed by SIGKILL`, `exited with status 1`."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
