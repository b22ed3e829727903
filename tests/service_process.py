"""A whole service for tests and benchmarks: both processes, and a database in a folder."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.environment import without_settings
from tests.ports import free_port

PATIENCE_S = 120


class Client:
    """Speaks to one service; every answer that is not a success is an error."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._http = httpx2.Client(base_url=f"{self.address}/v1", timeout=30)

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def get(self, path: str, **params: str | int) -> Any:  # noqa: ANN401 - JSON
        """JSON of a GET."""
        answer = self._http.get(path, params=params)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, body: object) -> Any:  # noqa: ANN401 - JSON
        """JSON of a POST."""
        answer = self._http.post(path, content=json.dumps(body), headers={"content-type": JSON})
        answer.raise_for_status()
        return answer.json()

    def send(self, path: str, body: bytes, content_type: str) -> Any:  # noqa: ANN401 - JSON
        """JSON of a POST of something else."""
        answer = self._http.post(path, content=body, headers={"content-type": content_type})
        answer.raise_for_status()
        return answer.json()

    def finished(self, sweep_id: str, *, poll_s: float = 0.2) -> Any:  # noqa: ANN401 - JSON
        """Wait until no trial of the sweep is left to run."""
        while True:
            sweep = self.get(f"/sweeps/{sweep_id}")
            if sweep["state"] not in ("queued", "running"):
                return sweep
            time.sleep(poll_s)

    def read(self, path: str) -> bytes:
        """Bytes of a GET."""
        answer = self._http.get(path)
        answer.raise_for_status()
        return answer.content

    def command(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        """What `tpsweep … --json` prints of this service last."""
        environment = without_settings() | {"TPSWEEP_URL": self.address}
        done = subprocess.run(
            [Path(sys.executable).with_name("tpsweep"), *words, "--json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])


JSON = "application/json"


@contextmanager
def running_service(home: Path, **settings: str) -> Iterator[Client]:
    """Migrate, start both processes, wait until a node is there; stop them at the end."""
    port = free_port()
    own = {"TPSWEEP_HOME": str(home), "TPSWEEP_PORT": str(port)}
    environment = without_settings() | own | settings
    tpsweep = Path(sys.executable).with_name("tpsweep")
    subprocess.run([tpsweep, "db", "upgrade"], env=environment, check=True, capture_output=True)
    told = home / "service.log"
    with told.open("w") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", module], env=environment, stdout=log, stderr=log
            )
            for module in ("service.api", "service.dispatch")
        ]
    client = Client(port)
    try:
        _wait_for_a_node(client, processes, told)
        yield client
    finally:
        client.close()
        for process in processes:
            process.send_signal(signal.SIGTERM)
        try:
            for process in processes:
                process.wait(PATIENCE_S)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _wait_for_a_node(client: Client, processes: list[subprocess.Popen[bytes]], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if any(process.poll() is not None for process in processes):
            break
        try:
            if client.get("/nodes")["items"]:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the service did not come up: {log.read_text()[-2000:]}")
