from typing import Self

import torch
from torch import Tensor

from workers.tp.collectives.backend import BackendCollectives
from workers.tp.collectives.members import AllReduceOnly, Members
from workers.tp.collectives.symmetric_memory import PROOF_DTYPES, SymmetricBuffer


class OneShotAllReduce(AllReduceOnly):
    """Every GPU reads all parts and sums them itself: one kernel, which copies its own part first.

    Moves (P-1) times the message into each GPU, so it is for small ones.
    """

    wires: tuple[Tensor, ...] = ()

    def __init__(self, buffer: SymmetricBuffer, backend: BackendCollectives) -> None:
        self._buffer, self._backend = buffer, backend

    @classmethod
    def open(cls, members: Members) -> Self:
        """Prepare the buffer, or CollectiveUnavailableError on all members."""
        return cls(SymmetricBuffer("one_shot", members), BackendCollectives.open(members))

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum `tensor` over the ranks, in place, on the current stream."""
        if tensor.dtype in PROOF_DTYPES:
            return self._backend.all_reduce(tensor, where=where)
        room = self._buffer.room_for(tensor)
        torch.ops.symm_mem.one_shot_all_reduce_copy_out(
            room, tensor, "sum", self._buffer.group_name, tensor
        )
        return tensor

    def close(self) -> None:
        """Free the buffer."""
        self._buffer.close()
