"""Ranks as threads of one process: multi-rank properties without the cost of starting processes."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from torch import Tensor

from workers.tp.group import TensorParallelGroup

R = TypeVar("R")


class ThreadCollectives:
    """Sums in place like a real backend, in order of rank; notes what each call was."""

    def __init__(self, rank: int, slots: list[Tensor | None], barrier: threading.Barrier) -> None:
        self._rank, self._slots, self._barrier = rank, slots, barrier
        self.calls: list[tuple[str, int]] = []

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        assert tensor.is_contiguous(), f"{where}: a backend refuses strided tensors"
        self.calls.append((where, tensor.nbytes))
        self._slots[self._rank] = tensor.detach().clone()
        self._barrier.wait(timeout=10)
        parts = [part for part in self._slots if part is not None]
        tensor.detach().copy_(sum(parts[1:], start=parts[0]))
        self._barrier.wait(timeout=10)
        return tensor


def run_ranks(
    size: int, function: Callable[[TensorParallelGroup, ThreadCollectives], R]
) -> list[R]:
    """Return function(group, collectives) of every rank, all of them running at once."""
    slots: list[Tensor | None] = [None] * size
    barrier = threading.Barrier(size)

    def run(rank: int) -> R:
        collectives = ThreadCollectives(rank, slots, barrier)
        try:
            return function(TensorParallelGroup(rank, size, collectives), collectives)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))
