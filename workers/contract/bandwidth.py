"""Bandwidths as nccl-tests defines them (doc/PERFORMANCE.md); GB = 1e9 bytes."""

from typing import assert_never

from workers.contract.axes import Collective


def bus_factor(collective: Collective, *, num_ranks: int) -> float:
    """Bytes through the slowest link per byte of the total array, for the ring algorithm."""
    match collective:
        case Collective.ALL_REDUCE:
            return 2 * (num_ranks - 1) / num_ranks
        case Collective.ALL_GATHER | Collective.REDUCE_SCATTER:
            return (num_ranks - 1) / num_ranks
        case Collective.SEND_RECV:
            return 1.0 if num_ranks > 1 else 0.0
        case _:
            assert_never(collective)


def algbw_gb_per_s(*, message_bytes: int, time_us: float) -> float:
    """Size over time; `message_bytes` is the total array (for all_gather: over all ranks)."""
    return message_bytes / time_us / 1e3


def busbw_gb_per_s(
    collective: Collective, *, message_bytes: int, time_us: float, num_ranks: int
) -> float:
    """Comparable with the data sheet of the slowest link, whatever the number of ranks."""
    algbw = algbw_gb_per_s(message_bytes=message_bytes, time_us=time_us)
    return algbw * bus_factor(collective, num_ranks=num_ranks)
