"""A one-shot all-reduce of the ranks of one host: each writes once, waits once, and sums all parts.

Why one wait for each call is enough. There are two sets of slots, and calls alternate between them.
A rank that writes to a set in call n+2 has passed the wait of call n+1, so every rank had come to
call n+1, and had thus finished reading that set in call n.

Why no fence is needed, on x86-64 only. Its total store order lets no store pass an earlier store,
and no load or store pass an earlier load (Intel SDM volume 3, section 8.2; AMD64 APM volume 2,
section 7.2): a rank that sees a count sees the data written before it, and a count says that the
loads before it are done. glibc fences the streaming stores of its large copies itself. Processors
with weaker order, Arm among them, may show the count before the data: refused there.
"""

import mmap
import os
import platform
from typing import Self

import torch
from torch import Tensor

from workers.contract.errors import CollectiveUnavailableError
from workers.contract.implementations import X86_64
from workers.tp.collectives.members import AllReduceOnly, Members
from workers.tp.collectives.segment import map_together
from workers.tp.collectives.turnstile import STRIDE, Turnstile

SLOT_BYTES = 1 << 20
"""What a rank sends at once; larger messages go piece by piece, so that slots stay in the cache."""

NUM_SETS = 2
WORD_BYTES = 8
PAGE_BYTES = 4096

MOST_VIEWS = 64
"""Sizes and dtypes whose views of the slots are kept."""


class SharedMemoryAllReduce(AllReduceOnly):
    """All-reduce of any size and dtype between processes of one host, in place.

    Parts are added in order of rank in the message's own dtype, as gloo does: with P ranks P-1
    roundings, and the same bits on every rank.
    """

    def __init__(self, mapping: mmap.mmap, turnstile: Turnstile, *, rank: int, size: int) -> None:
        self._turnstile = turnstile
        self._rank, self._size = rank, size
        self._memory = torch.frombuffer(mapping, dtype=torch.uint8)
        self._views: dict[tuple[torch.dtype, int], tuple[tuple[Tensor, ...], ...]] = {}
        self._number = 0

    @classmethod
    def open(cls, members: Members) -> Self:
        """Map memory between the members, or CollectiveUnavailableError on all of them."""
        _refuse_where_it_cannot_work(members)
        cores = os.sched_getaffinity(0)
        facts = members.exchange([os.getpid(), min(cores), len(cores)])
        pids, lowest, num_cores = zip(*facts, strict=True)
        is_pinned = max(num_cores) == 1
        free_cores = len(set(lowest)) if is_pinned else min(num_cores)
        header = _header_bytes(members.size)
        mapping = map_together(members, header + NUM_SETS * members.size * SLOT_BYTES)
        turnstile = Turnstile(
            memoryview(mapping)[PAGE_BYTES:header].cast("q"),
            rank=members.rank,
            pids=pids,
            timeout_s=members.timeout_s,
            is_crowded=members.size > free_cores,
        )
        return cls(mapping, turnstile, rank=members.rank, size=members.size)

    @property
    def wires(self) -> tuple[Tensor, ...]:
        """The memory that all ranks map."""
        return (self._memory,)

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum `tensor` over the ranks, in place."""
        flat = tensor.view(-1)
        largest = SLOT_BYTES // tensor.element_size()
        if flat.shape[0] <= largest:
            self._sum(flat, where)
        else:
            for piece in flat.split(largest):
                self._sum(piece, where)
        return tensor

    def close(self) -> None:
        """Unmap the memory; it is freed once every rank has."""
        self._views.clear()
        self._memory = torch.empty(0, dtype=torch.uint8)
        self._turnstile.close()

    def _sum(self, piece: Tensor, where: str) -> None:
        self._number = number = self._number + 1
        key = (piece.dtype, piece.shape[0])
        slots = (self._views.get(key) or self._view(*key))[number % NUM_SETS]
        slots[self._rank].copy_(piece)
        self._turnstile.pass_together(number, where=where)
        torch.add(slots[0], slots[1], out=piece)
        for slot in slots[2:]:
            piece.add_(slot)

    def _view(self, dtype: torch.dtype, length: int) -> tuple[tuple[Tensor, ...], ...]:
        """Return each set's slots, one for each rank, as `length` elements of `dtype`."""
        if len(self._views) >= MOST_VIEWS:
            self._views.clear()
        slots = self._memory[_header_bytes(self._size) :].view(NUM_SETS, self._size, SLOT_BYTES)
        cut = slots[:, :, : length * dtype.itemsize].view(dtype)
        views = tuple(tuple(cut[each].unbind()) for each in range(NUM_SETS))
        self._views[dtype, length] = views
        return views


def _header_bytes(size: int) -> int:
    """Return bytes before the slots: a page with the mark, and pages for the counts."""
    counts = size * STRIDE * WORD_BYTES
    return PAGE_BYTES * (1 + -(-counts // PAGE_BYTES))


def _refuse_where_it_cannot_work(members: Members) -> None:
    reason = ""
    if members.device.type != "cpu":
        reason = f"it reduces a CPU's tensors, and these are on {members.device.type}"
    elif platform.machine() not in X86_64:
        reason = f"it relies on the store order of x86-64, and this is {platform.machine()}"
    elif not members.share_a_host:
        reason = "the ranks sit on several hosts"
    if reason:
        raise CollectiveUnavailableError(
            f"shared_memory: {reason}; collective_impl backend works everywhere"
        )
