"""`python -m service.dispatch` as a process of its own, with a home that marks all it starts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.e2e.isolation import processes_of
from tests.processes import rank_pids
from tests.waiting import wait_until


class DispatcherProcess:
    """One dispatcher. Its Ray's processes inherit its home, so they can be found."""

    def __init__(
        self, home: Path, *, database_url: str, ttl_s: float, ray_address: str = "local"
    ) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.log = home / "dispatcher.log"
        foreign = ("TPSWEEP_", "RAY_AUTH_") if ray_address == "local" else ("TPSWEEP_",)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "service.dispatch"],
                env={
                    **kept,
                    "TPSWEEP_HOME": str(home),
                    "TPSWEEP_DATABASE_URL": database_url,
                    "TPSWEEP_LEASE_TTL_S": str(ttl_s),
                    "TPSWEEP_RAY_ADDRESS": ray_address,
                },
                stdout=log,
                stderr=log,
            )

    @property
    def output(self) -> str:
        """What it has logged."""
        return self.log.read_text()

    def rank_pids(self) -> tuple[int, ...]:
        """Its worker group's processes."""
        return rank_pids(psutil.Process(self.process.pid))

    def send(self, number: signal.Signals) -> None:
        """Signal the dispatcher, nothing else."""
        self.process.send_signal(number)

    def wait(self, *, within_s: float) -> int:
        """Its exit status."""
        return self.process.wait(timeout=within_s)

    def leftovers(self) -> list[str]:
        """Everything of its that still runs."""
        return processes_of(self.home)

    def close(self) -> None:
        """End it, however it is."""
        if self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        wait_until(lambda: not self.leftovers(), within_s=20)
