from enum import StrEnum
from typing import assert_never

from workers.contract.axes import Collective
from workers.contract.bandwidth import bus_factor


class Operation(StrEnum):
    """What nccl-tests can time; the first three are those that tensor parallelism needs."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALLTOALL = "alltoall"
    GATHER = "gather"
    SCATTER = "scatter"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    SENDRECV = "sendrecv"

    @property
    def is_count_per_rank(self) -> bool:
        """Whether the count column is the share of one rank, and the size that of all."""
        return self in _DIVIDED

    @property
    def is_reduction(self) -> bool:
        """Whether its tables name the operation that combines elements."""
        return self in _COMBINING

    @property
    def has_root(self) -> bool:
        """Whether one rank differs from the others."""
        return self in _ROOTED

    @property
    def has_in_place(self) -> bool:
        """Whether it can run in place; where not, nccl-tests times it there without a check."""
        return self not in (Operation.ALLTOALL, Operation.SENDRECV)

    def bus_factor(self, num_ranks: int) -> float:
        """Bus bandwidth over algorithm bandwidth (doc/PERFORMANCE.md)."""
        match self:
            case Operation.ALL_REDUCE | Operation.ALL_GATHER | Operation.REDUCE_SCATTER:
                return bus_factor(Collective(self), num_ranks=num_ranks)
            case Operation.ALLTOALL | Operation.GATHER | Operation.SCATTER:
                return (num_ranks - 1) / num_ranks
            case Operation.BROADCAST | Operation.REDUCE | Operation.SENDRECV:
                return 1.0
            case _:
                assert_never(self)


NOT_READ = ("alltoallv", "hypercube")
"""Programs of nccl-tests that are refused: their rows tell no rank's size or a bandwidth apart."""

_DIVIDED = frozenset(
    {
        Operation.ALL_GATHER,
        Operation.REDUCE_SCATTER,
        Operation.ALLTOALL,
        Operation.GATHER,
        Operation.SCATTER,
    }
)
_COMBINING = frozenset(
    {Operation.ALL_REDUCE, Operation.REDUCE_SCATTER, Operation.REDUCE, Operation.SENDRECV}
)
"""A sendrecv combines nothing, and prints the name of one all the same."""
_ROOTED = frozenset({Operation.BROADCAST, Operation.REDUCE, Operation.GATHER, Operation.SCATTER})
