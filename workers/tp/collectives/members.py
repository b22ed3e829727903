"""Who opens an implementation of the collectives together, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from workers.contract.errors import CollectiveUnavailableError
from workers.tp.group import Collectives, DoneAtOnce


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The ranks that open an implementation at the same moment, as one of them sees them."""

    rank: int
    size: int
    device: torch.device
    process_group: dist.ProcessGroup
    """Carries the control messages, on the CPU, while an implementation is opened."""
    world_size: int
    """Ranks of their processes' largest group: more than `size` where these are a part of them."""
    share_a_host: bool
    """Whether all of them are processes of one kernel."""
    timeout_s: float
    """Of each collective."""

    def exchange(self, values: Sequence[int]) -> list[list[int]]:
        """Return every rank's `values`, by rank. All ranks must pass equally many."""
        mine = torch.tensor(values, dtype=torch.int64)
        theirs = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(theirs, mine, group=self.process_group)
        return [row.tolist() for row in theirs]


class OpenCollectives(Collectives, Protocol):
    """An implementation in use, and what its owner must know of it."""

    @property
    def wires(self) -> tuple[Tensor, ...]:
        """Memory that other ranks read what is written to: see `workers.tp.counter`.

        Empty where every message passes torch's dispatcher as a collective.
        """
        ...

    def close(self) -> None:
        """Give back what was opened. It can not be used afterwards."""
        ...


class AllReduceOnly(DoneAtOnce):
    """The rest of an implementation that has no other collective, and none that runs by itself.

    The contract refuses points that would ask it for one before they are queued.
    """

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        """Refuse."""
        raise self._unavailable("all_gather", where, part, whole)

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        """Refuse."""
        raise self._unavailable("reduce_scatter", where, part, whole)

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:
        """Refuse."""
        del source, target
        raise self._unavailable("send_recv", where, tensor, tensor)

    def _unavailable(
        self, op: str, where: str, part: Tensor, whole: Tensor
    ) -> CollectiveUnavailableError:
        return CollectiveUnavailableError(
            f"{type(self).__name__} has no {op}, which {where} asks of it for {tuple(part.shape)} "
            f"of {tuple(whole.shape)}; collective_impl backend works everywhere"
        )
