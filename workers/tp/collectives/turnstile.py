"""How ranks that share memory wait for one another: each counts its calls where all can read it."""

import contextlib
import os
import select
import time
from collections.abc import Sequence

from workers.contract.errors import RankLostError

STRIDE = 16
"""Words from one rank's count to the next: two cache lines, which processors fetch as a pair."""

NUM_SPINS = 2_000
"""Looks at a count, 30 ns each, before the core is offered to others."""

LOOK_S = 0.005
"""How often a rank that waits long asks the kernel whether its peers still live."""


class Turnstile:
    """One rank's way of saying that it has come to a call, and of waiting until all others have.

    Numbers are 64 bits wide and only grow: at a million calls a second they would last for 290 000
    years. A count is one aligned word, so it is written and read whole.
    """

    def __init__(
        self,
        counts: memoryview,
        *,
        rank: int,
        pids: Sequence[int],
        timeout_s: float,
        is_crowded: bool,
    ) -> None:
        """`counts` are zeroed words, STRIDE for each rank; `is_crowded` if ranks share a core."""
        self._counts = counts
        self._mine = rank * STRIDE
        self._others = tuple((i, i * STRIDE) for i in range(len(pids)) if i != rank)
        self._timeout_s = timeout_s
        self._num_spins = 0 if is_crowded else NUM_SPINS
        self._exits = select.poll()
        self._rank_of: dict[int, int] = {}
        for peer, _ in self._others:
            with contextlib.suppress(OSError):  # an old kernel: then the deadline has to do
                descriptor = os.pidfd_open(pids[peer])
                self._rank_of[descriptor] = peer
                self._exits.register(descriptor, select.POLLIN)

    def pass_together(self, number: int, *, where: str) -> None:
        """Say that this rank has come to call `number`; return once all have.

        RankLostError once a rank that has not come is dead, or the time is up.
        """
        counts = self._counts
        counts[self._mine] = number
        for _, place in self._others:
            if counts[place] < number:
                self._wait(place, number, where=where)

    def close(self) -> None:
        """Let go of the counts and of the peers' processes."""
        self._counts.release()
        for descriptor in self._rank_of:
            os.close(descriptor)
        self._rank_of.clear()

    def _wait(self, place: int, number: int, *, where: str) -> None:
        counts = self._counts
        for _ in range(self._num_spins):
            if counts[place] >= number:
                return
        now = time.monotonic()
        deadline, next_look = now + self._timeout_s, now + LOOK_S
        while counts[place] < number:
            os.sched_yield()
            now = time.monotonic()
            if now >= next_look:
                self._refuse_the_dead(number, where=where)
                next_look = now + LOOK_S
            if now >= deadline:
                late = [peer for peer, place in self._others if counts[place] < number]
                names = ", ".join(map(str, late))
                msg = f"rank {names} did not come to {where} within {self._timeout_s:g} s"
                raise RankLostError(msg, rank=late[0], cause="hung")

    def _refuse_the_dead(self, number: int, *, where: str) -> None:
        for descriptor, _ in self._exits.poll(0):
            peer = self._rank_of[descriptor]
            if self._counts[peer * STRIDE] < number:
                msg = f"rank {peer} ended before it came to {where}"
                raise RankLostError(msg, rank=peer, cause="died")
