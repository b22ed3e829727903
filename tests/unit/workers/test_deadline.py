"""The self-destruct works where nothing else does; each case runs in a process of its own."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

PRELUDE = """
import sys, time
from pathlib import Path
from workers.runtime.deadline import SelfDestruct
limit = SelfDestruct(Path(sys.argv[1]))
"""


def run(body: str, stacks: Path) -> tuple[int, float]:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + body, str(stacks)], timeout=20, check=False
    )
    return done.returncode, time.monotonic() - began


@pytest.mark.parametrize(
    "hang",
    [
        "time.sleep(60)",
        "import re; re.match('(a+)+b', 'a' * 60)",  # holds the GIL in C for longer than we live
    ],
    ids=["asleep", "holding the GIL"],
)
def test_a_trial_past_its_deadline_ends_the_process_and_leaves_its_stacks(
    hang: str, tmp_path: Path
) -> None:
    code, seconds = run(f"limit.begin_trial(0.3)\n{hang}", tmp_path / "rank.stacks")
    assert code == 1
    assert seconds < 10
    assert "line" in (tmp_path / "rank.stacks").read_text()


def test_a_rank_that_hears_no_dispatcher_ends_itself(tmp_path: Path) -> None:
    code, _ = run("limit.renew_lease(0.3)\ntime.sleep(60)", tmp_path / "rank.stacks")
    assert code == 1


@pytest.mark.slow
def test_renewing_the_lease_keeps_an_idle_rank_alive(tmp_path: Path) -> None:
    body = "for _ in range(12):\n    limit.renew_lease(4)\n    time.sleep(0.5)\n"
    assert run(body, tmp_path / "rank.stacks")[0] == 0


def test_renewing_the_lease_does_not_extend_the_trial(tmp_path: Path) -> None:
    body = "limit.begin_trial(0.3)\nwhile True:\n    limit.renew_lease(5)\n    time.sleep(0.05)\n"
    assert run(body, tmp_path / "rank.stacks")[0] == 1


@pytest.mark.slow
def test_a_finished_trial_is_no_longer_limited(tmp_path: Path) -> None:
    body = "limit.begin_trial(2)\nlimit.end_trial()\ntime.sleep(2.5)\n"
    assert run(body, tmp_path / "rank.stacks")[0] == 0
