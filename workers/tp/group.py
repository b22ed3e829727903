"""The ranks that share one block, and what carries their tensors between them."""

from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch.distributed as dist
from torch import Tensor


class Collectives(Protocol):
    """The operations a sharded block asks of its group; one class for each way of running them."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Return the sum of `tensor` over all ranks, the same bits on each of them.

        Takes ownership: the tensor must be contiguous, and the caller must not read it afterwards,
        since it may be summed in place. `where` names the call: mlp.forward, attention.backward.
        """
        ...


@dataclass(frozen=True, slots=True)
class TensorParallelGroup:
    """One rank's view of the ranks among which a block is cut. Passed in, never global."""

    rank: int
    size: int
    collectives: Collectives

    def with_collectives(self, collectives: Collectives) -> Self:
        """Return the same ranks over other collectives: timed ones, or none."""
        return replace(self, collectives=collectives)


class BackendCollectives:
    """Collectives of a torch.distributed process group: NCCL, gloo. Synchronous and in place.

    On CUDA synchronous means ordered on the calling stream, not waited for by the host.
    """

    def __init__(self, process_group: dist.ProcessGroup) -> None:
        self._process_group = process_group
        self._options = dist.AllreduceOptions()  # a sum, as it comes
        # What dist.all_reduce(async_op=False) sets: NCCL then stays on the calling stream. Asked of
        # the process group itself, which saves that function's checks on every call.
        self._options.asyncOp = False

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - for wrappers
        """Sum `tensor` over the ranks, in place."""
        self._process_group.allreduce([tensor], self._options).wait()
        return tensor


class NoCollectives:
    """Nothing is sent: each rank keeps its own part, of equal shape. Times compute alone."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - as the protocol
        """Return `tensor` untouched."""
        return tensor
