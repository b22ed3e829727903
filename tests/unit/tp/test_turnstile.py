"""How ranks that share memory wait: with a peer that is late, dead or stopped."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from workers.contract.errors import RankLostError
from workers.tp.collectives.turnstile import STRIDE, Turnstile


@pytest.fixture
def peer() -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which never comes."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def counts_for(size: int) -> memoryview:
    return memoryview(bytearray(8 * STRIDE * size)).cast("q")


def turnstile(
    counts: memoryview, pids: list[int], *, timeout_s: float = 0.3, is_crowded: bool = False
) -> Turnstile:
    return Turnstile(counts, rank=0, pids=pids, timeout_s=timeout_s, is_crowded=is_crowded)


@pytest.mark.parametrize("is_crowded", [False, True])
def test_it_waits_for_a_late_rank(peer: subprocess.Popen[bytes], *, is_crowded: bool) -> None:
    counts = counts_for(2)
    ours = turnstile(counts, [os.getpid(), peer.pid], timeout_s=10, is_crowded=is_crowded)
    late = threading.Timer(0.05, counts.__setitem__, (STRIDE, 1))
    began = time.monotonic()
    late.start()
    ours.pass_together(1, where="mlp.forward")
    assert 0.03 < time.monotonic() - began < 5
    assert counts[0] == 1, "this rank has come too"
    late.join()
    ours.close()


def test_a_dead_peer_is_named_long_before_the_deadline(peer: subprocess.Popen[bytes]) -> None:
    ours = turnstile(counts_for(2), [os.getpid(), peer.pid], timeout_s=30)
    threading.Timer(0.05, peer.kill).start()
    began = time.monotonic()
    with pytest.raises(
        RankLostError, match=r"rank 1 ended before it came to mlp\.forward"
    ) as caught:
        ours.pass_together(1, where="mlp.forward")
    assert (caught.value.rank, caught.value.cause) == (1, "died")
    assert time.monotonic() - began < 5
    ours.close()


def test_a_peer_that_died_after_it_came_is_not_missed(peer: subprocess.Popen[bytes]) -> None:
    counts = counts_for(3)
    ours = turnstile(counts, [os.getpid(), peer.pid, os.getpid()], timeout_s=0.2)
    counts[STRIDE] = 1
    peer.kill()
    peer.wait()
    with pytest.raises(RankLostError, match="rank 2 did not come") as caught:
        ours.pass_together(1, where="mlp.forward")
    assert caught.value.rank == 2
    ours.close()


def test_peers_that_hang_are_named_at_the_deadline(peer: subprocess.Popen[bytes]) -> None:
    peer.send_signal(signal.SIGSTOP)
    ours = turnstile(counts_for(3), [os.getpid(), peer.pid, peer.pid])
    began = time.monotonic()
    with pytest.raises(RankLostError, match=r"rank 1, 2 did not come to x within 0\.3 s") as caught:
        ours.pass_together(1, where="x")
    assert (caught.value.rank, caught.value.cause) == (1, "hung")
    assert 0.3 <= time.monotonic() - began < 5
    ours.close()


def test_numbers_beyond_32_bits_are_told_apart(peer: subprocess.Popen[bytes]) -> None:
    counts, number = counts_for(2), 1 << 40
    ours = turnstile(counts, [os.getpid(), peer.pid], timeout_s=0.1)
    counts[STRIDE] = number
    ours.pass_together(number, where="x")
    with pytest.raises(RankLostError):
        ours.pass_together(number + 1, where="x")
    ours.close()
