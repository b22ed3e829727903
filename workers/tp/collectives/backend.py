from typing import Self

import torch.distributed as dist
from torch import Tensor

from workers.tp.collectives.members import Members


class BackendCollectives:
    """Collectives of a torch.distributed process group: NCCL, gloo. Synchronous and in place.

    On CUDA synchronous means ordered on the calling stream, not waited for by the host.
    """

    wires: tuple[Tensor, ...] = ()

    def __init__(self, process_group: dist.ProcessGroup) -> None:
        self._process_group = process_group
        self._options = dist.AllreduceOptions()  # a sum, as it comes
        # What dist.all_reduce(async_op=False) sets: NCCL then stays on the calling stream. Asked of
        # the process group itself, which saves that function's checks on every call.
        self._options.asyncOp = False

    @classmethod
    def open(cls, members: Members) -> Self:
        """Use the group's own collectives."""
        return cls(members.process_group)

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - for wrappers
        """Sum `tensor` over the ranks, in place."""
        self._process_group.allreduce([tensor], self._options).wait()
        return tensor

    def close(self) -> None:
        """Nothing: the group is not its own."""
