"""The same sweep over one link, through a service that lives in the namespaces."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from service.store.engine import Sessions, create_engine
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from tests.shaped_link.hosts import Hosts

TPSWEEP = (sys.executable, "-c", "from service.cli.main import main; main()")
READY_WITHIN_S = 90.0
UNREACHABLE = 3


class Submitted(BaseModel):
    """What `tpsweep submit --json` says."""

    id: str
    state: str


@contextmanager
def service(hosts: Hosts, *, link: str) -> Iterator[None]:
    """API and dispatcher on the first host for as long as the block takes."""
    environment = {**hosts.environment, "TPSWEEP_LINK": link}
    with (hosts.folder / f"{link}.log").open("w") as log:
        up = subprocess.Popen(hosts.on(0, *TPSWEEP, "up"), env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(60)


def measure(hosts: Hosts, sweep: Path) -> list[MeasuredTrial]:
    """Submit and wait; what was measured. RuntimeError where not all of it was."""
    found = _submit(hosts, sweep)
    if found.state != "succeeded":
        raise RuntimeError(f"sweep {found.id} {found.state}: see `tpsweep sweeps {found.id}`")
    engine = create_engine(f"sqlite:///{hosts.environment['TPSWEEP_HOME']}/tpsweep.sqlite3")
    try:
        with Sessions(engine).reading() as session:
            return measured(session, ResultFilter(sweep_ids=(found.id,)))
    finally:
        engine.dispose()


def command(hosts: Hosts, *arguments: str) -> str:
    """A command of ours on the first host."""
    return hosts.run(0, *TPSWEEP, *arguments)


def _submit(hosts: Hosts, sweep: Path) -> Submitted:
    deadline = time.monotonic() + READY_WITHIN_S
    words: Sequence[str] = hosts.on(0, *TPSWEEP, "submit", str(sweep), "--wait", "--json")
    while True:
        done = subprocess.run(
            words, env=hosts.environment, check=False, capture_output=True, text=True
        )
        if done.returncode != UNREACHABLE:
            break
        if time.monotonic() > deadline:
            raise RuntimeError(f"the service does not come up: {done.stderr}")
        time.sleep(0.2)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return Submitted.model_validate(json.loads(done.stdout.splitlines()[-1]))
