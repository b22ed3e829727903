"""How a process ended that is not our child, and what its files say."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import wait_until
from workers.ray_group.agent import NodeAgent
from workers.ray_group.last_words import LastWords, kernel_tells_status, tail

SLEEPER = """
import faulthandler, os, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.write(log, b"working\\n")
faulthandler.register(signal.SIGUSR2, file=open(sys.argv[1].replace(".log", ".dump"), "w"))
print(os.getpid(), flush=True)
time.sleep(60)
"""

needs_pidfd_info = pytest.mark.skipif(
    not kernel_tells_status(), reason="needs Linux 6.15: pidfds keep the exit status"
)


@pytest.fixture
def agent() -> NodeAgent:
    return NodeAgent()


class Grandchild:
    """A process whose parent is another: the agent is never the parent of a rank."""

    def __init__(self, log: Path) -> None:
        run = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
        self.parent = subprocess.Popen(
            [sys.executable, "-c", run, SLEEPER, str(log)], stdout=subprocess.PIPE, text=True
        )
        assert self.parent.stdout is not None
        self.pid = int(self.parent.stdout.readline())

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.pid, number)


@pytest.fixture
def rank(tmp_path: Path, agent: NodeAgent) -> Grandchild:
    process = Grandchild(tmp_path / "rank0.log")
    agent.watch({process.pid: str(tmp_path / "rank0.log")})
    return process


@pytest.fixture(autouse=True)
def _reaped(rank: Grandchild) -> object:
    yield
    for pid in (rank.pid, rank.parent.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    rank.parent.communicate()


def words_of(agent: NodeAgent, pid: int, *, died: bool = False, hung: bool = False) -> LastWords:
    (words,) = agent.examine([pid], died=[pid] * died, hung=[pid] * hung)
    return words


@needs_pidfd_info
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_the_signal_is_the_kernels_own_word(
    agent: NodeAgent, rank: Grandchild, number: signal.Signals
) -> None:
    rank.kill(number)
    words = words_of(agent, rank.pid, died=True)
    assert (words.is_alive, words.signal, words.exit_code) == (False, number, None)
    assert words.log_tail == "working\n"


def test_a_living_process_says_so_with_its_state(agent: NodeAgent, rank: Grandchild) -> None:
    wait_until(lambda: words_of(agent, rank.pid).state == "sleeping", within_s=5)
    rank.kill(signal.SIGSTOP)
    wait_until(lambda: words_of(agent, rank.pid).state == "stopped", within_s=5)
    assert words_of(agent, rank.pid).is_alive


def test_a_hung_process_is_made_to_write_its_stacks(agent: NodeAgent, rank: Grandchild) -> None:
    assert "most recent call first" in words_of(agent, rank.pid, hung=True).stacks


def test_a_stopped_process_is_killed_without_its_cooperation(
    agent: NodeAgent, rank: Grandchild
) -> None:
    rank.kill(signal.SIGSTOP)
    began = time.monotonic()
    assert agent.end([rank.pid], within_s=5) == []
    assert time.monotonic() - began < 2
    assert not Path(f"/proc/{rank.pid}").exists() or rank.parent.poll() is None


def test_a_process_that_was_never_watched_is_not_touched(
    agent: NodeAgent, rank: Grandchild
) -> None:
    assert agent.end([rank.parent.pid], within_s=0.1) == []
    assert rank.parent.poll() is None


def test_only_the_last_part_of_a_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("x" * 100 + "the end")
    assert tail(path, limit_bytes=7) == "the end"
    assert tail(tmp_path / "none") == ""
