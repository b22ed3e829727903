import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]
PATIENCE_S = 15


class Supervised:
    """A supervisor in a process of its own, with the lines that it writes."""

    def __init__(self, *roles: str, patience_s: float, environment: Mapping[str, str]) -> None:
        module = "tests.integration.cli.supervised"
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, str(patience_s), *roles],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said: list[tuple[str, str]] = []
        self.seen: set[psutil.Process] = set()

    def read_until(self, source: str, text: str) -> None:
        """Read on to a line of the source that has the text."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                said = json.loads(line)
            except json.JSONDecodeError:
                pytest.fail(f"not JSON: {line}{self.process.stdout.read()}")
            self.said.append((said["source"], said["message"]))
            self.look()
            if said["source"] == source and text in said["message"]:
                return
        pytest.fail(f"{source} never said {text!r}: {self.said}")

    def look(self) -> list[psutil.Process]:
        """Its descendants now; remembers them."""
        with suppress(psutil.NoSuchProcess):
            now = psutil.Process(self.process.pid).children(recursive=True)
            self.seen |= set(now)
            return now
        return []

    def pid_of(self, role: str) -> int:
        """Of the newest child of that name."""
        marks = [message for source, message in self.said if source == "tpsweep"]
        mine = [mark for mark in marks if mark.startswith(f"started {role} (pid ")]
        return int(mine[-1].rsplit(" ", 1)[1].rstrip(")"))

    def survivors(self) -> list[psutil.Process]:
        """Of all descendants ever seen, those that still run after a moment."""
        gone_by = time.monotonic() + 5
        while time.monotonic() < gone_by:
            alive = [one for one in self.seen if _is_alive(one)]
            if not alive:
                return []
            time.sleep(0.02)
        return alive


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def supervising(
    *roles: str, patience_s: float = 1, environment: Mapping[str, str] | None = None
) -> Iterator[Supervised]:
    running = Supervised(*roles, patience_s=patience_s, environment=environment or {})
    try:
        yield running
    finally:
        running.look()
        running.process.kill()
        running.process.wait()
        if running.process.stdout is not None:
            running.process.stdout.close()
        for stray in running.seen:
            with suppress(psutil.NoSuchProcess):
                stray.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_children_politely_and_leaves_no_process(number: signal.Signals) -> None:
    with supervising("polite", "polite") as running:
        running.read_until("polite", "sleeping")
        running.read_until("polite", "sleeping")
        running.process.send_signal(number)
        running.read_until("polite", "stopped politely")
        running.read_until("tpsweep", "stopped")
        assert running.process.wait(PATIENCE_S) == 0
        assert len(running.seen) == 2
        assert running.survivors() == []


def test_ctrl_c_of_a_terminal_reaches_only_the_supervisor() -> None:
    with supervising("polite") as running:
        running.read_until("polite", "sleeping")
        os.killpg(running.process.pid, signal.SIGINT)
        running.read_until("tpsweep", "stopped")
        assert ("polite", "stopped politely") in running.said
        assert not any("KeyboardInterrupt" in message for _, message in running.said)


def test_killed_child_is_started_again() -> None:
    with supervising("polite") as running:
        running.read_until("polite", "sleeping")
        first = running.pid_of("polite")
        os.kill(first, signal.SIGKILL)
        running.read_until("tpsweep", "polite was killed by SIGKILL")
        assert "starts again in 1 s" in running.said[-1][1]
        running.read_until("polite", "sleeping")
        assert running.pid_of("polite") != first


def test_child_that_keeps_dying_is_started_later_each_time() -> None:
    with supervising("dying") as running:
        for delay in (1, 2):
            running.read_until("tpsweep", "dying was killed")
            assert running.said[-1][1].endswith(f"it starts again in {delay} s")


def test_killed_supervisor_takes_its_children_with_it() -> None:
    with supervising("stubborn", "polite") as running:
        running.read_until("tpsweep", "started stubborn")
        running.read_until("polite", "sleeping")
        running.look()
        running.process.kill()
        running.process.wait()
        assert len(running.seen) == 2
        assert running.survivors() == []


def test_child_that_ignores_sigterm_is_killed_after_some_patience() -> None:
    with supervising("stubborn") as running:
        running.read_until("stubborn", "sleeping")
        running.process.send_signal(signal.SIGINT)
        running.read_until("tpsweep", "did not stop in time")
        assert running.process.wait(PATIENCE_S) == 0
        assert running.survivors() == []


def test_second_signal_ends_the_patience() -> None:
    with supervising("stubborn", patience_s=3600) as running:
        running.read_until("stubborn", "sleeping")
        running.process.send_signal(signal.SIGINT)
        running.read_until("tpsweep", "SIGINT: stopping")
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(PATIENCE_S) == 0
        assert running.survivors() == []


def test_what_children_left_behind_is_gone_in_the_end() -> None:
    with supervising("prolific") as running:
        running.read_until("prolific", "sleeping")
        deadline = time.monotonic() + PATIENCE_S
        while len(running.look()) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(running.seen) >= 3
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE_S) == 0
        assert running.survivors() == []


def test_what_a_dead_child_left_behind_is_gone_before_the_next() -> None:
    with supervising("prolific") as running:
        running.read_until("prolific", "sleeping")
        deadline = time.monotonic() + PATIENCE_S
        while len(running.look()) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        left = set(running.seen)
        os.kill(running.pid_of("prolific"), signal.SIGKILL)
        running.read_until("tpsweep", "starts again")
        assert [one for one in left if _is_alive(one)] == []


def test_child_that_cannot_work_as_things_are_is_not_started_again() -> None:
    with supervising("misconfigured", "polite") as running:
        running.read_until("misconfigured", "no such database")
        assert running.process.stdout is not None
        rest = running.process.stdout.read()
        assert running.process.wait(PATIENCE_S) != 0
        assert "starts again" not in rest
        assert "misconfigured cannot work as things are" in rest
        assert running.survivors() == []


def test_what_cleans_up_after_a_dead_child_gets_the_time_for_it(tmp_path: Path) -> None:
    with supervising("tidied", environment={"TIDIED": str(tmp_path / "tidied")}) as running:
        running.read_until("tidied", "sleeping")
        os.kill(running.pid_of("tidied"), signal.SIGKILL)
        running.read_until("tpsweep", "starts again")
        assert (tmp_path / "tidied").exists()
