"""Real backends that do one thing wrong in what a step sends."""

import torch
import torch.distributed as dist
from torch import Tensor

from workers.tp.exchange import WHERE as PROOF
from workers.tp.group import Collectives, PassedOn


class Distorted(PassedOn):
    """A real backend with one thing wrong in what a step sends; the proof's own sums are right."""

    def __init__(self, backend: Collectives, rank: int) -> None:
        super().__init__(backend)
        self.rank = rank

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        if where == PROOF:
            return self._inner.all_reduce(tensor, where=where)
        return self.distort(tensor, where=where)

    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self._inner.all_reduce(tensor, where=where)


class SumsTooMuch(Distorted):
    """Where no counter sees it."""

    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self._inner.all_reduce(tensor, where=where).mul_(2)


class DealsToTheWrongRank(Distorted):
    """Gathers the parts in another order than the ranks'."""

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        gathered = self._inner.all_gather(part, whole, where=where)
        return gathered.copy_(gathered.unflatten(0, (2, -1)).flip(0).flatten(0, 1))


class ScattersUnsummed(Distorted):
    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - as the base
        dist.all_reduce(torch.zeros(1))
        return part.copy_(whole.chunk(2)[self.rank])


class GathersWider(Distorted):
    """Twice the bytes: right in number and kind of collectives."""

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        return whole.copy_(self._inner.all_gather(part.double(), whole.double(), where=where))


class SendsWider(Distorted):
    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self._inner.all_reduce(tensor.double(), where=where).to(tensor.dtype)


class SumsOnceMoreAlone(Distorted):
    """Rank 1 sends a message more, which no other rank has to answer. Made on all ranks at once."""

    def __init__(self, backend: Collectives, rank: int) -> None:
        super().__init__(backend, rank)
        self._alone = dist.new_group([1])

    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        if self.rank == 1:
            dist.all_reduce(torch.zeros(1), group=self._alone)
        return self._inner.all_reduce(tensor, where=where)


class Gathers(Distorted):
    def distort(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - as the base
        parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, tensor)
        return torch.stack(parts).sum(0)


class SumsInAnotherOrder(Distorted):
    """The last bits depend on the rank."""

    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self._inner.all_reduce(tensor, where=where).mul_(1 + self.rank * 1e-15)
