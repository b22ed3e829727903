"""Ranks as threads of one process: multi-rank properties without the cost of starting processes."""

import itertools
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from workers.contract.axes import Collective
from workers.tp.group import Pending, TensorParallelGroup

R = TypeVar("R")
Mail = Mapping[tuple[int, int], "queue.Queue[Tensor]"]
"""From each rank to each other one."""


class _Late:
    """Numbers that arrive when they are waited for; who reads or writes there before sees it."""

    def __init__(self, target: Tensor, result: Tensor) -> None:
        self._target, self._result = target.detach().fill_(torch.nan), result

    def wait(self) -> Tensor:
        assert bool(self._target.isnan().all()), "written to while it was being sent"
        return self._target.copy_(self._result)


class ThreadCollectives:
    """Sums and gathers in place like a real backend, in order of rank; notes what each call was."""

    def __init__(
        self, rank: int, slots: list[Tensor | None], mail: Mail, barrier: threading.Barrier
    ) -> None:
        self._rank, self._slots, self._mail, self._barrier = rank, slots, mail, barrier
        self.calls: list[tuple[Collective, str, int]] = []
        """Operation, label and bytes of the total array."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        parts = self._share(Collective.ALL_REDUCE, tensor, where=where, num_bytes=tensor.nbytes)
        tensor.detach().copy_(sum(parts[1:], start=parts[0]))
        return tensor

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        parts = self._share(Collective.ALL_GATHER, part, where=where, num_bytes=whole.nbytes)
        return whole.copy_(torch.cat(parts))

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        parts = self._share(Collective.REDUCE_SCATTER, whole, where=where, num_bytes=whole.nbytes)
        part.copy_(sum(parts[1:], start=parts[0]).chunk(len(parts))[self._rank])
        whole.detach().fill_(torch.nan)  # it was handed over
        return part

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:
        self.calls.append((Collective.SEND_RECV, where, tensor.nbytes))
        assert tensor.is_contiguous(), f"{where}: a backend refuses strided tensors"
        letters = self._mail[source, target]
        if self._rank == source:
            letters.put(tensor.detach().clone())
            return tensor
        return tensor.detach().copy_(letters.get(timeout=10))

    def start_all_reduce(self, tensor: Tensor, *, where: str) -> Pending:
        return _Late(tensor, self.all_reduce(tensor.detach().clone(), where=where))

    def start_all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Pending:
        return _Late(whole, self.all_gather(part, whole.detach().clone(), where=where))

    def start_reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Pending:
        return _Late(part, self.reduce_scatter(whole, part.detach().clone(), where=where))

    def _share(self, op: Collective, tensor: Tensor, *, where: str, num_bytes: int) -> list[Tensor]:
        """Return every rank's tensor, in order of rank."""
        assert tensor.is_contiguous(), f"{where}: a backend refuses strided tensors"
        self.calls.append((op, where, num_bytes))
        self._slots[self._rank] = tensor.detach().clone()
        self._barrier.wait(timeout=10)
        parts = [part for part in self._slots if part is not None]
        self._barrier.wait(timeout=10)
        return parts


def run_ranks(
    size: int, function: Callable[[TensorParallelGroup, ThreadCollectives], R]
) -> list[R]:
    """Return function(group, collectives) of every rank, all of them running at once."""
    slots: list[Tensor | None] = [None] * size
    mail = {ends: queue.Queue[Tensor]() for ends in itertools.permutations(range(size), 2)}
    barrier = threading.Barrier(size)

    def run(rank: int) -> R:
        collectives = ThreadCollectives(rank, slots, mail, barrier)
        try:
            return function(TensorParallelGroup(rank, size, collectives), collectives)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))
