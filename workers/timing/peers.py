import time

import torch
import torch.distributed as dist

START_MARGIN_NS = 250_000
"""Long enough for the fence's message to reach every rank before the agreed start."""


class Peers:
    """The ranks that take a step together, as far as timing needs to know them.

    Messages go over CPU tensors (gloo), outside every timed window.
    """

    def __init__(self, group: dist.ProcessGroup | None, *, clock_identity: str) -> None:
        self._group = group
        own = clock_identity.encode()
        identities = self.exchange_bytes(own) if group else [own]
        self.num_here = identities.count(own)
        """Ranks whose monotonic clock is this one's: processes of one host."""
        self.share_a_clock = self.num_here == len(identities)

    def exchange(self, values: list[int]) -> list[list[int]]:
        """Every rank's `values`, by rank. All ranks must pass equally many."""
        if self._group is None:
            return [values]
        mine = torch.tensor(values, dtype=torch.int64)
        theirs = [torch.empty_like(mine) for _ in range(self._group.size())]
        dist.all_gather(theirs, mine, group=self._group)
        return [row.tolist() for row in theirs]

    def exchange_bytes(self, text: bytes) -> list[bytes]:
        """Every rank's text of equal length, by rank."""
        return [bytes(row) for row in self.exchange(list(text))]

    def begin_together(self) -> None:
        """Return on all ranks at one moment, as near as the clocks allow.

        On a shared clock the ranks agree on a moment and spin up to it, so that no step contains
        the time in which a barrier lets go of one rank after the other; elsewhere a barrier.
        """
        if self._group is None:
            return
        start = torch.tensor([time.perf_counter_ns()], dtype=torch.int64)
        dist.all_reduce(start, op=dist.ReduceOp.MAX, group=self._group)
        if self.share_a_clock:
            begin = int(start.item()) + START_MARGIN_NS
            while time.perf_counter_ns() < begin:
                pass
