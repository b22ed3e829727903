"""The README's commands, run as they stand against a service of their own."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.isolation import ROOT, isolated_environment, processes_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

READY_WITHIN_S = 60
REPLICATES, ONE_REPLICATE = '"replicates": 2', '"replicates": 1'
"""Most of a small sweep's time is the start of a group for each replicate."""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment of a client of a running service."""
    home = tmp_path / "home"
    variables = isolated_environment(home)
    url = f"http://127.0.0.1:{variables['TPSWEEP_PORT']}"
    with (tmp_path / "up.log").open("w") as log:
        up = subprocess.Popen(["tpsweep", "up"], env=variables, stdout=log, stderr=log)
        try:
            _wait_until_ready(url, up)
            yield {**variables, "TPSWEEP_URL": url}
        finally:
            up.send_signal(signal.SIGINT)
            try:
                assert up.wait(40) == 0, (tmp_path / "up.log").read_text()
            finally:
                up.kill()
    assert processes_of(home) == []


def _wait_until_ready(url: str, up: "subprocess.Popen[bytes]") -> None:
    """The API answers and a dispatcher has brought devices."""
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        assert up.poll() is None, "tpsweep up ended"
        try:
            if httpx2.get(f"{url}/v1/nodes").json()["items"]:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail("the service does not come up")


def blocks(text: str) -> list[str]:
    """Commands of the README: what stands in ```bash fences."""
    return re.findall(r"^```bash\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_commands_of_the_readme_work(environment: dict[str, str], tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = "\n".join(blocks(readme)).replace("/tmp/", f"{tmp_path}/")  # noqa: S108 - theirs
    assert script.count(REPLICATES) == 1
    script = script.replace(REPLICATES, ONE_REPLICATE)
    assert "curl" in script
    assert "tpsweep compare" in script
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "sweep_finished" in done.stdout, "the event stream came to its end"
    assert (tmp_path / "results.jsonl").read_text().count("\n") > 0
