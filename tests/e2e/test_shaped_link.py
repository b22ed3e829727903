"""Tensor parallelism across a shaped link, for real: two network namespaces on this machine."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.isolation import ROOT, processes_of
from tests.integration.dispatch.ray_session import alive
from tests.shaped_link import sweeper
from tests.shaped_link.hosts import obstacle
from tests.waiting import wait_until

OBSTACLE = obstacle()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(420),
    pytest.mark.skipif(OBSTACLE is not None, reason=OBSTACLE or ""),
]

RING_MS = 64 * 768 * 4 * 8 / 100e6 * 1e3
"""Batch 64 of gpt2 in float32 between two ranks at 100 Mbit/s: 2(P-1)/P is 1."""

HOLD = """
import subprocess, sys, time
from pathlib import Path
from tests.shaped_link.hosts import two_hosts
with two_hosts(Path(sys.argv[1])) as hosts:
    subprocess.Popen(hosts.on(1, "sleep", "600"))
    print(*hosts.namespaces, hosts.folder, flush=True)
    time.sleep(600)
"""


def test_a_killed_demo_leaves_no_namespace_and_no_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        first, second, folder = demo.stdout.readline().split()
        assert {first, second} <= set(sweeper.known())
        wait_until(lambda: sweeper.pids_in(second), within_s=20)
        (held,) = sweeper.pids_in(second)
        demo.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while {first, second} & set(sweeper.known()) or Path(folder).exists():
        assert time.monotonic() < deadline, "the sweeper did not come"
        time.sleep(0.05)
    assert alive((held,)) == []


def test_a_later_run_removes_what_a_dead_demo_and_its_sweeper_left() -> None:
    left = f"{sweeper.PREFIX}4194305-1-a"  # no process has so high a number
    alive = sweeper.name_of(os.getpid(), "a")
    for name in (left, alive):
        subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        sweeper.remove_stale()
        known = sweeper.known()
        assert left not in known
        assert alive in known
    finally:
        sweeper.remove([alive])


@pytest.mark.alone
def test_all_reduces_take_as_long_as_the_link_allows_and_the_report_says_what_follows(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.shaped_link", "--quick", "--home", tmp_path / "home"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "160"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    shown = done.stdout
    assert done.returncode == 0, shown + done.stderr
    rows = re.findall(r"^ *(?:unshaped|100mbit) +\d+ .*%  +\d+% *$", shown, re.MULTILINE)
    assert len(rows) == 4, shown
    times_ms = {link: float(ms) for link, ms in re.findall(r"(network_\w+) ([\d.]+) ms \(", shown)}
    assert times_ms["network_100mbit"] > times_ms["network_unshaped"], shown
    assert times_ms["network_100mbit"] > 0.9 * RING_MS, shown
    assert len(re.findall(r"^network_\w+: tp_degree 2 .*; predicted: ", shown, re.MULTILINE)) == 2
    assert "claim 24" in shown
    assert sweeper.known() == []
    assert processes_of(tmp_path / "home") == []
