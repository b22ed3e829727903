"""Whatever carries the mark is gone once the dispatcher is."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from service.dispatch.cluster import start_sweeper
from service.dispatch.environment import MARK
from service.dispatch.sweeper import marked
from tests.waiting import wait_until

STRAY = "import time; print('up', flush=True); time.sleep(60)"


def stray(mark: str) -> "subprocess.Popen[str]":
    """A process in a session of its own, as Ray's are."""
    process = subprocess.Popen(
        [sys.executable, "-c", STRAY],
        env={**os.environ, MARK: mark},
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_marked_processes_and_files_go_when_the_input_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, "mark-of-the-dispatcher")
    files = tmp_path / "session"
    files.mkdir()
    ours, other = stray("mark-of-the-dispatcher"), stray("mark-of-another")
    sweeper = start_sweeper(mark="mark-of-the-dispatcher", directory=files)
    try:
        time.sleep(0.2)
        assert ours.poll() is None, "nothing is touched while the dispatcher lives"
        assert sweeper.stdin is not None
        sweeper.stdin.close()
        assert sweeper.wait(timeout=20) == 0
        assert ours.wait(timeout=5) == -9
        assert other.poll() is None
        assert not files.exists()
    finally:
        for process in (ours, other):
            process.kill()
            process.communicate()


@pytest.mark.parametrize(("title", "goes"), [("ray::DashboardAgent", True), ("tail", False)])
def test_a_process_that_wrote_its_title_over_the_mark_is_known_by_its_files(
    tmp_path: Path, title: str, *, goes: bool
) -> None:
    files = tmp_path / "session"
    files.mkdir()
    with (files / "agent.log").open("w") as log:
        untitled = subprocess.Popen(
            [title, "-I", "-c", "import time; time.sleep(60)"],
            executable=sys.executable,
            env={},
            start_new_session=True,
            stderr=log,
        )
    try:
        # The kernel lets a parent go on a moment before the child's words are in place.
        wait_until(Path(f"/proc/{untitled.pid}/cmdline").read_bytes, within_s=5)
        assert (untitled.pid in marked("mark-written-over", str(files))) is goes
    finally:
        untitled.kill()
        untitled.wait()


DISPATCHER = """
import sys
from pathlib import Path
from service.dispatch.cluster import start_sweeper
sweeper = start_sweeper(mark=sys.argv[1], directory=Path(sys.argv[2]))
sweeper.stdin.close()
print("swept", sweeper.wait(timeout=20))
"""


def test_a_dispatcher_that_stops_in_order_lives_to_see_the_end(tmp_path: Path) -> None:
    mark = "mark-of-one-that-waits"
    ours = stray(mark)
    done = subprocess.run(
        [sys.executable, "-c", DISPATCHER, mark, str(tmp_path / "none")],
        env={**os.environ, MARK: mark},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout == "swept 0\n", done.stderr
    assert ours.wait(timeout=5) == -9
    ours.communicate()


def test_processes_are_found_by_the_mark_in_their_environment() -> None:
    ours = stray("mark-to-be-found")
    assert marked("mark-to-be-found", "/nowhere") == {ours.pid}
    ours.kill()
    ours.communicate()
