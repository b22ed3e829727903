"""What a rank knows of the others from the clocks that they say they have."""

from typing import cast

import pytest
import torch.distributed as dist

from workers.timing.peers import Peers


class ToldOf(Peers):
    """Ranks whose clocks are these; the first one is its own."""

    def __init__(self, *clocks: str) -> None:
        self._told = [clock.encode() for clock in clocks]
        group = cast("dist.ProcessGroup", object())
        super().__init__(group, clock_identity=clocks[0])

    def exchange_bytes(self, text: bytes) -> list[bytes]:
        assert text == self._told[0]
        return self._told


@pytest.mark.parametrize(
    ("clocks", "num_here", "share_a_clock"),
    [("aaaa", 4, True), ("aabb", 2, False), ("abbb", 1, False)],
)
def test_ranks_of_one_clock_sit_on_one_host(
    clocks: str, num_here: int, *, share_a_clock: bool
) -> None:
    peers = ToldOf(*clocks)
    assert (peers.num_here, peers.share_a_clock) == (num_here, share_a_clock)


def test_a_rank_alone_is_the_only_one_here() -> None:
    peers = Peers(None, clock_identity="a")
    assert (peers.num_here, peers.share_a_clock) == (1, True)
