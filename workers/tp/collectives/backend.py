from dataclasses import dataclass
from typing import Self

import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import AllgatherOptions

from workers.tp.collectives.members import Members
from workers.tp.group import Pending


class BackendCollectives:
    """Collectives of a torch.distributed process group: NCCL, gloo. In place.

    On CUDA synchronous means ordered on the calling stream, not waited for by the host.
    """

    wires: tuple[Tensor, ...] = ()

    def __init__(self, process_group: dist.ProcessGroup) -> None:
        self._process_group = process_group
        self._options = dist.AllreduceOptions()  # a sum, as it comes
        # What dist.all_reduce(async_op=False) sets: NCCL then stays on the calling stream. Asked of
        # the process group itself, which saves that function's checks on every call.
        self._options.asyncOp = False
        self._gather_options = AllgatherOptions()
        self._gather_options.asyncOp = False
        self._scatter_options = dist.ReduceScatterOptions()
        self._scatter_options.asyncOp = False
        self._started_sum = dist.AllreduceOptions()
        self._started_gather = AllgatherOptions()
        self._started_scatter = dist.ReduceScatterOptions()
        for options in (self._started_sum, self._started_gather, self._started_scatter):
            options.asyncOp = True

    @classmethod
    def open(cls, members: Members) -> Self:
        """Use the group's own collectives."""
        return cls(members.process_group)

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - for wrappers
        """Sum `tensor` over the ranks, in place."""
        self._process_group.allreduce([tensor], self._options).wait()
        return tensor

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:  # noqa: ARG002
        """Fill `whole` with the ranks' parts."""
        self._process_group._allgather_base(whole, part, self._gather_options).wait()  # noqa: SLF001 - its only name in every torch
        return whole

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:  # noqa: ARG002
        """Fill `part` with this rank's rows of the sum.

        gloo has no way of its own: it all-reduces a copy and keeps the rows, so that on CPUs this
        takes as long as the all-reduce that it is half of, and `whole` is there twice
        (ProcessGroupGloo::reduce_scatter_tensor_coalesced; NCCL scatters).
        """
        self._process_group._reduce_scatter_base(part, whole, self._scatter_options).wait()  # noqa: SLF001 - its only name in every torch
        return part

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:  # noqa: ARG002
        """Send from one rank to the other."""
        if self._process_group.rank() == source:
            self._process_group.send([tensor], target, 0).wait()
        else:
            self._process_group.recv([tensor], source, 0).wait()
        return tensor

    def start_all_reduce(self, tensor: Tensor, *, where: str) -> Pending:  # noqa: ARG002
        """Start the sum."""
        return _Started(self._process_group.allreduce([tensor], self._started_sum), tensor)

    def start_all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Pending:  # noqa: ARG002
        """Start the gather."""
        work = self._process_group._allgather_base(whole, part, self._started_gather)  # noqa: SLF001 - as above
        return _Started(work, whole)

    def start_reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Pending:  # noqa: ARG002
        """Start the scatter; gloo gives `part` its rows only when it is waited for."""
        work = self._process_group._reduce_scatter_base(part, whole, self._started_scatter)  # noqa: SLF001 - as above
        return _Started(work, part)

    def close(self) -> None:
        """Nothing: the group is not its own."""


@dataclass(frozen=True, slots=True)
class _Started:
    """Runs in gloo's threads, or on a stream of NCCL's."""

    work: dist.Work
    result: Tensor

    def wait(self) -> Tensor:
        """Return the result: on CUDA the current stream waits, not the host."""
        self.work.wait()
        return self.result
