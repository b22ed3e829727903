"""What ranks do once for a larger message, over real processes and gloo: no proof counts it."""

import torch
import torch.distributed as dist
from torch import Tensor

from tests.distributed.conftest import SpawnRanks
from tests.unit.workers.builders import point
from workers.contract.axes import Collective, Dtype
from workers.contract.probe import CollectiveProbe
from workers.tp.exchange import WHERE as PROOF
from workers.tp.group import Collectives, PassedOn, TensorParallelGroup
from workers.tp.probe_proof import prove_probe
from workers.tp.proof import prove

CPU = torch.device("cpu")


class TakesRoomTogether(PassedOn):
    """A sound backend whose ranks meet where a larger message comes than any before.

    As those do whose memory is symmetric: they grow it together. The proof's own sums go past it.
    """

    def __init__(self, inner: Collectives) -> None:
        super().__init__(inner)
        self._room = 0

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        if where != PROOF and tensor.nbytes > self._room:
            dist.barrier()
            self._room = tensor.nbytes
        return self._inner.all_reduce(tensor, where=where)


def growing(group: TensorParallelGroup) -> TensorParallelGroup:
    return group.with_collectives(TakesRoomTogether(group.collectives))


def prove_probes(group: TensorParallelGroup, sizes: list[int]) -> list[int]:
    group = growing(group)
    probes = [
        CollectiveProbe(
            op=Collective.ALL_REDUCE, message_bytes=size, tp_degree=2, dtype=Dtype.BFLOAT16
        )
        for size in sizes
    ]
    return [prove_probe(one, group=group, device=CPU, seed=1).collective_bytes for one in probes]


def test_a_probe_of_any_size_is_one_collective(spawn_ranks: SpawnRanks) -> None:
    sizes = [1024, 4096, 2048]
    assert spawn_ranks(2, prove_probes, sizes) == [sizes] * 2


def prove_block(group: TensorParallelGroup, phase: str) -> int:
    return prove(
        point(block="layer", phase=phase),
        group=growing(group),
        device=CPU,
        seed=1,
        reference_dtype=torch.float32,
    ).num_collectives


def test_a_block_of_any_width_has_its_own_collectives_alone(spawn_ranks: SpawnRanks) -> None:
    assert spawn_ranks(2, prove_block, "train") == [4, 4]
    assert spawn_ranks(2, prove_block, "decode") == [2, 2]
