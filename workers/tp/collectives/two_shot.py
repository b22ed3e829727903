from typing import Self

import torch
from torch import Tensor

from workers.tp.collectives.backend import BackendCollectives
from workers.tp.collectives.members import AllReduceOnly, Members
from workers.tp.collectives.symmetric_memory import PROOF_DTYPES, SymmetricBuffer


class TwoShotAllReduce(AllReduceOnly):
    """Every GPU sums one share of the message and then reads the others' shares: two exchanges.

    Moves 2 (P-1)/P times the message, as a ring does, so it is for larger ones than one_shot.
    """

    wires: tuple[Tensor, ...] = ()

    def __init__(self, buffer: SymmetricBuffer, backend: BackendCollectives) -> None:
        self._buffer, self._backend = buffer, backend

    @classmethod
    def open(cls, members: Members) -> Self:
        """Prepare the buffer, or CollectiveUnavailableError on all members."""
        return cls(SymmetricBuffer("two_shot", members), BackendCollectives.open(members))

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum `tensor` over the ranks, in place, on the current stream."""
        if tensor.dtype in PROOF_DTYPES:
            return self._backend.all_reduce(tensor, where=where)
        room = self._buffer.room_for(tensor)
        room.copy_(
            tensor
        )  # the kernel begins and ends with an exchange: no peer reads a stale part
        torch.ops.symm_mem.two_shot_all_reduce_out(room, "sum", self._buffer.group_name, tensor)
        return tensor

    def close(self) -> None:
        """Free the buffer."""
        self._buffer.close()
