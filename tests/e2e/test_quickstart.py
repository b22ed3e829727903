import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.isolation import ROOT, isolated_environment, processes_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

NUM_POINTS = 40
MOST_S_TO_THE_TABLE = 150
"""A minute on two quiet cores, which this host need not have."""


SMALL = {
    "models": [{"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}],
    "blocks": "mlp",
    "phase": "prefill",
    "tp_degree": 1,
    "batch": 1,
    "replicates": 1,
    "sampling": {"max_time_s": 0.05},
}


@pytest.fixture
def demonstration(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """What quickstart becomes, with less to measure; whatever the test does, it is stopped."""
    sweep = tmp_path / "sweep.json"
    sweep.write_text(json.dumps(SMALL))
    process = subprocess.Popen(
        [Path(sys.executable).with_name("tpsweep"), "demo", sweep],
        cwd="/",
        env=isolated_environment(tmp_path / "home"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_hear_ctrl_c,  # noqa: PLW1509 - no other thread of ours holds a lock
    )
    with process:
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)


def _hear_ctrl_c() -> None:
    """A run of the tests in the background ignores it, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.alone
def test_quickstart_measures_shows_and_leaves_nothing_behind(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = subprocess.run(
        [ROOT / "deploy" / "quickstart", "--exit"],
        cwd="/",
        env=isolated_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    shown = done.stdout
    assert done.returncode == 0, shown + done.stderr
    assert "sweep succeeded" in shown
    assert len(re.findall(r" \[[\d.]+, [\d.]+\] (?:us|ms|s) ", shown)) == NUM_POINTS, shown
    assert len(re.findall(r"^break-even .*tp_degree 2", shown, flags=re.MULTILINE)) == 4, shown
    assert re.search(r"\d\.\d\dx", shown), "speed-up against one rank"
    assert "/docs" in shown
    ready, over = (
        float(re.findall(rf"\[ *([\d.]+) s\] {step}", shown)[0])
        for step in ("database", "sweep succeeded")
    )
    assert over - ready < MOST_S_TO_THE_TABLE, shown
    assert processes_of(home) == []


def test_a_demonstration_serves_until_ctrl_c(
    demonstration: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    assert demonstration.stdout is not None
    for line in demonstration.stdout:
        if "serving until Ctrl-C" in line:
            break
    else:
        pytest.fail("it ended by itself")
    demonstration.send_signal(signal.SIGINT)
    rest = demonstration.stdout.read()
    assert demonstration.wait(30) == 0, rest
    assert "everything is stopped" in rest
    deadline = time.monotonic() + 10
    while processes_of(tmp_path / "home") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_of(tmp_path / "home") == []
