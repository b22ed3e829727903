"""The shared-memory all-reduce between real processes: right, the same bits, and mortal."""

import errno
import os
import platform
import random
import re
import time
import zlib
from pathlib import Path
from typing import cast

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.distributed.conftest import SpawnRanks
from tests.distributed.implementations import members
from workers.contract.errors import CollectiveUnavailableError
from workers.tp.collectives.segment import NAME
from workers.tp.collectives.shared_memory import SLOT_BYTES, SharedMemoryAllReduce
from workers.tp.counter import CollectiveCounter
from workers.tp.group import TensorParallelGroup

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.uint8)


def bits(tensor: Tensor) -> bytes:
    return tensor.view(-1).view(torch.uint8).numpy().tobytes()


def draw(rng: random.Random, *, rank: int) -> Tensor:
    """A message of random dtype and size; each rank its own numbers, all the same shape."""
    dtype = rng.choice((*FLOATS, *INTEGERS))
    at_edge = SLOT_BYTES // dtype.itemsize + rng.choice((-1, 0, 1))
    length = rng.choice((0, 1, 7, 64, 1000, 16_384, at_edge, rng.randint(2, 300_000)))
    shape = (length // 8, 8) if length % 8 == 0 else (length,)
    generator = torch.Generator().manual_seed(rng.randint(0, 1 << 30) * 8 + rank)
    if dtype in FLOATS:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(0, 60, shape, generator=generator).to(dtype)


def compare_with_gloo(group: TensorParallelGroup, num_messages: int) -> list[int]:
    """Return a checksum of every sum, which is gloo's as near as the order of adding lets."""
    ours = SharedMemoryAllReduce.open(members(group))
    rng, checksums = random.Random(group.size), []
    for _ in range(num_messages):
        mine = draw(rng, rank=group.rank)
        theirs = group.collectives.all_reduce(mine.clone(), where="theirs")
        message = mine.clone()
        total = ours.all_reduce(message, where="ours")
        assert total is message, "summed in place"
        assert total.shape == mine.shape
        if mine.dtype in INTEGERS:
            assert torch.equal(total, theirs)
        else:
            rounding = torch.finfo(mine.dtype).eps * group.size
            torch.testing.assert_close(total, theirs, rtol=rounding, atol=8 * rounding)
        checksums.append(zlib.crc32(bits(total)))
    ours.close()
    return checksums


@pytest.mark.parametrize("size", [2, 3, 4])
def test_sums_are_gloos_and_the_same_bits_on_every_rank(size: int, spawn_ranks: SpawnRanks) -> None:
    checksums = spawn_ranks(size, compare_with_gloo, 60)
    assert all(each == checksums[0] for each in checksums)


def sum_in_rank_order(group: TensorParallelGroup) -> bool:
    """Numbers whose sum depends on the order: 2**24 + 1 + 1 is 2**24 in float32."""
    ours = SharedMemoryAllReduce.open(members(group))
    value = 2.0**24 if group.rank == 0 else 1.0
    total = ours.all_reduce(torch.full((33,), value), where="order")
    return bool((total == 2.0**24).all())


def test_parts_are_added_in_order_of_rank_each_sum_rounded(spawn_ranks: SpawnRanks) -> None:
    assert spawn_ranks(4, sum_in_rank_order) == [True] * 4


def run_many(group: TensorParallelGroup, num_calls: int) -> int:
    """Alternate sizes, with a rank that is late at random; return how many sums were wrong."""
    ours = SharedMemoryAllReduce.open(members(group))
    sizes, lateness = random.Random(1), random.Random(group.rank)
    num_wrong = 0
    for call in range(num_calls):
        length = sizes.choice((1, 3, 4096, 20_000))
        if lateness.random() < 0.01:
            time.sleep(0.001)
        total = ours.all_reduce(torch.full((length,), float(call + group.rank)), where="many")
        expected = float(sum(call + rank for rank in range(group.size)))
        num_wrong += not bool((total == expected).all())
    return num_wrong


@pytest.mark.parametrize("size", [2, 3])
def test_thousands_of_calls_without_a_barrier_between_them(
    size: int, spawn_ranks: SpawnRanks
) -> None:
    assert spawn_ranks(size, run_many, 3000) == [0] * size


def open_and_close(group: TensorParallelGroup) -> list[tuple[int, int]]:
    """This process's mappings of our memory, and of any with a name, before, while and after."""
    seen = [mappings()]
    ours = SharedMemoryAllReduce.open(members(group))
    ours.all_reduce(torch.ones(SLOT_BYTES), where="large")
    seen.append(mappings())
    ours.close()
    return [*seen, mappings()]


def mappings() -> tuple[int, int]:
    maps = Path("/proc/self/maps").read_text()
    return maps.count(f"/memfd:{NAME}"), maps.count("/dev/shm/")  # noqa: S108 - where names would be


def test_the_memory_has_no_name_and_is_gone_once_closed(spawn_ranks: SpawnRanks) -> None:
    """So that nothing is left in /dev/shm, whenever and however a rank ends."""
    assert spawn_ranks(2, open_and_close) == [[(0, 0), (1, 0), (0, 0)]] * 2


def refuse(group: TensorParallelGroup, fault: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        if fault == "machine":
            patch.setattr(platform, "machine", lambda: "aarch64")
        if fault == "room" and group.rank == 0:
            patch.setattr(os, "ftruncate", no_room)
        if fault == "container" and group.rank == 1:
            patch.setattr(os, "open", not_permitted)
        asked = members(
            group,
            share_a_host=fault != "hosts",
            device="cuda" if fault == "device" else "cpu",
        )
        try:
            SharedMemoryAllReduce.open(asked)
        except CollectiveUnavailableError as error:
            return str(error)
    return "opened"


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "planted")


def not_permitted(*_: object) -> None:
    raise PermissionError(errno.EACCES, "planted")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("machine", "store order of x86-64, and this is aarch64"),
        ("hosts", "several hosts"),
        ("device", "on cuda"),
        ("room", "rank 0 could not map .* No space left"),
        ("container", "rank 1 could not map .* Permission denied"),
    ],
)
def test_where_it_cannot_work_every_rank_says_why_and_what_does(
    fault: str, says: str, spawn_ranks: SpawnRanks
) -> None:
    answers = cast("list[str]", spawn_ranks(2, refuse, fault))
    assert answers[0] == answers[1]
    assert re.search(says, answers[0])
    assert "backend works everywhere" in answers[0]


def count_messages(group: TensorParallelGroup) -> list[tuple[str, int]]:
    """What the counter sees of messages of one piece and of several, and of copies elsewhere."""
    ours = SharedMemoryAllReduce.open(members(group))
    whole = torch.ones(SLOT_BYTES)  # four pieces
    with CollectiveCounter(wires=ours.wires) as counter:
        ours.all_reduce(torch.ones(10), where="small")
        torch.empty(5).copy_(torch.ones(5))
        ours.all_reduce(whole, where="large")
        ours.all_reduce(whole, where="again")
        dist.all_reduce(torch.ones(3))
        ours.all_reduce(whole[:7], where="part")
    return [(message.op, message.message_bytes) for message in counter.messages]


def test_the_counter_sees_what_is_written_to_the_memory(spawn_ranks: SpawnRanks) -> None:
    sizes = [40, 4 * SLOT_BYTES, 4 * SLOT_BYTES, 12, 28]
    expected = [("all_reduce", size) for size in sizes]
    assert spawn_ranks(2, count_messages) == [expected, expected]
