"""Blocks wrong on purpose, over real processes: each is refused, by name, on every rank."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from tests.distributed.conftest import SpawnRanks
from tests.distributed.implementations import using
from workers.contract.axes import Activation, Block, CollectiveImpl, Phase
from workers.contract.errors import CollectiveCountError, NumericsError, ProofError
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.tp import blocks
from workers.tp.attention import AttentionShard
from workers.tp.exchange import WHERE as PROOF
from workers.tp.group import Collectives, NoCollectives, TensorParallelGroup
from workers.tp.kv_cache import KvCache
from workers.tp.linear import column_parallel, row_parallel
from workers.tp.mappings import copy_to_ranks
from workers.tp.mlp import MlpShard
from workers.tp.proof import prove


class DetachedInput(MlpShard):
    """What a block input without requires_grad does."""

    def forward(self, x_BSH: Tensor, group: TensorParallelGroup) -> Tensor:
        return MlpShard.forward(self, x_BSH.detach(), group)


class WithoutG(MlpShard):
    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        (up_TF,) = column_parallel(x_TH, self.up, group=group, where="mlp.backward")
        return F.linear(F.gelu(up_TF), self.down)


class WithoutF(MlpShard):
    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        inner_TF = F.gelu(F.linear(x_TH, self.up))
        return row_parallel(inner_TF, self.down, group=group, where="mlp.forward")


class ReducedTwice(MlpShard):
    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        out_TH = MlpShard.forward_tokens(self, x_TH, group)
        group.collectives.all_reduce(out_TH.data, where="mlp.forward")
        return out_TH


class AnFForEachMatrix(MlpShard):
    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        assert self.gate is not None
        (gate_TF,) = column_parallel(x_TH, self.gate, group=group, where="mlp.backward")
        (up_TF,) = column_parallel(x_TH, self.up, group=group, where="mlp.backward")
        inner_TF = F.silu(gate_TF) * up_TF
        return row_parallel(inner_TF, self.down, group=group, where="mlp.forward")


class GateAndUpSwapped(MlpShard):
    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        assert self.gate is not None
        swapped = MlpShard(up=self.gate, down=self.down, activation=self.activation, gate=self.up)
        return swapped.forward_tokens(x_TH, group)


class InputChanged(MlpShard):
    def forward(self, x_BSH: Tensor, group: TensorParallelGroup) -> Tensor:
        out_BSH = MlpShard.forward(self, x_BSH, group)
        x_BSH.data.mul_(2)
        return out_BSH


class ActivationChangedAfterItWasSaved(MlpShard):
    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        (up_TF,) = column_parallel(x_TH, self.up, group=group, where="mlp.backward")
        inner_TF = F.gelu(up_TF)
        out_TH = row_parallel(inner_TF, self.down, group=group, where="mlp.forward")
        inner_TF.data.zero_()
        return out_TH


class InnerActivationReduced(MlpShard):
    """The right number of collectives, the wrong tensor."""

    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup) -> Tensor:
        x_TH = copy_to_ranks(x_TH, group, where="mlp.backward")
        inner_TF = F.gelu(F.linear(x_TH, self.up))
        group.collectives.all_reduce(inner_TF.data, where="mlp.forward")
        return F.linear(inner_TF, self.down)


class OneCachedTokenForgotten(AttentionShard):
    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        assert self.cache is not None
        short = KvCache(self.cache.keys[:, :, 1:], self.cache.values[:, :, 1:])
        without = replace(self, cache=short)
        return AttentionShard.forward_tokens(without, x_TH, group, batch=batch)


class WrongQueryHeads(AttentionShard):
    """Key-value heads in the wrong order: consecutive query heads no longer share one."""

    def forward_tokens(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        rows = self.query_key_value.unflatten(0, (-1, self.head_dim))
        heads, kv_heads = self.num_heads, self.num_kv_heads
        q, k, v = rows.split((heads, kv_heads, kv_heads))
        mixed = torch.cat((q, k.flip(0), v.flip(0))).flatten(0, 1)
        wrong = AttentionShard(mixed, self.output, heads, kv_heads, self.head_dim)
        return wrong.forward_tokens(x_TH, group, batch=batch)


REAL = blocks.REGISTRY

Build = Callable[[PointSpec, Sequence[Tensor], KvCache | None], blocks.ShardedBlock]


def real(spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None) -> blocks.ShardedBlock:
    return REAL[spec.block].assemble(spec, weights, cache)


def an_mlp(cls: type[MlpShard]) -> Build:
    def build(spec: PointSpec, weights: Sequence[Tensor], _cache: KvCache | None) -> MlpShard:
        *gate, up, down = weights
        return cls(up, down, spec.model.activation, gate=gate[0] if gate else None)

    return build


def wrong_query_heads(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> AttentionShard:
    heads, kv_heads = blocks.heads_per_rank(spec.model, spec.tp_degree)
    mixed, output = weights
    return WrongQueryHeads(mixed, output, heads, kv_heads, spec.model.head_dim, cache)


def one_cached_token_forgotten(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> AttentionShard:
    heads, kv_heads = blocks.heads_per_rank(spec.model, spec.tp_degree)
    mixed, output = weights
    return OneCachedTokenForgotten(mixed, output, heads, kv_heads, spec.model.head_dim, cache)


def cut_the_other_way(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> blocks.ShardedBlock:
    """Shapes as if rows and columns were mixed up."""
    turned = [weight.detach().T.contiguous().requires_grad_() for weight in weights]
    return real(spec, turned, cache)


def dealt_wrongly_on_rank_1(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> blocks.ShardedBlock:
    """The columns of the first matrix do not match the rows of the second."""
    up, down = weights
    dealt = up.detach().flip(0).requires_grad_() if dist.get_rank() else up
    return real(spec, (dealt, down), cache)


@dataclass(frozen=True)
class Distorted:
    """A real backend with one thing wrong in what a step sends; the proof's own sums are right."""

    backend: Collectives
    rank: int

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        if where == PROOF:
            return self.backend.all_reduce(tensor, where=where)
        return self.distort(tensor, where=where)

    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self.backend.all_reduce(tensor, where=where)

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        return self.backend.all_gather(part, whole, where=where)

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        return self.backend.reduce_scatter(whole, part, where=where)


class SumsTooMuch(Distorted):
    """Where no counter sees it."""

    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self.backend.all_reduce(tensor, where=where).mul_(2)


class SendsWider(Distorted):
    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self.backend.all_reduce(tensor.double(), where=where).to(tensor.dtype)


class Gathers(Distorted):
    def distort(self, tensor: Tensor, *, where: str) -> Tensor:  # noqa: ARG002 - as the base
        parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, tensor)
        return torch.stack(parts).sum(0)


class SumsInAnotherOrder(Distorted):
    """The last bits depend on the rank."""

    def distort(self, tensor: Tensor, *, where: str) -> Tensor:
        return self.backend.all_reduce(tensor, where=where).mul_(1 + self.rank * 1e-15)


@dataclass(frozen=True)
class Fault:
    """What is planted, and what the proof has to say of it."""

    error: type[ProofError]
    says: str
    build: Build = real
    distort: type[Distorted] = Distorted
    block: Block = Block.MLP
    gated: bool = False
    phase: Phase = Phase.TRAIN


FAULTS = {
    "input without grad": Fault(
        CollectiveCountError, "input does not require grad", an_mlp(DetachedInput)
    ),
    "no f": Fault(CollectiveCountError, "f is missing", an_mlp(WithoutF)),
    "no g": Fault(CollectiveCountError, "g is missing", an_mlp(WithoutG)),
    "no g in prefill": Fault(
        CollectiveCountError, "g is missing", an_mlp(WithoutG), phase=Phase.PREFILL
    ),
    "reduced twice": Fault(CollectiveCountError, "reduced twice", an_mlp(ReducedTwice)),
    "an f for each": Fault(
        CollectiveCountError, "an f of its own", an_mlp(AnFForEachMatrix), gated=True
    ),
    "inner activation reduced": Fault(
        CollectiveCountError, "an inner activation", an_mlp(InnerActivationReduced)
    ),
    "wider elements": Fault(CollectiveCountError, "another dtype", distort=SendsWider),
    "gather instead": Fault(CollectiveCountError, "were of another kind", distort=Gathers),
    "sums too much": Fault(NumericsError, "once too often", distort=SumsTooMuch),
    "sums in another order": Fault(NumericsError, "other bits", distort=SumsInAnotherOrder),
    "wrong axis": Fault(NumericsError, "wrong axis", cut_the_other_way),
    "wrong rank": Fault(NumericsError, "dealt to the wrong rank", dealt_wrongly_on_rank_1),
    "gate and up": Fault(
        NumericsError, "gate and up are swapped", an_mlp(GateAndUpSwapped), gated=True
    ),
    "key-value heads": Fault(
        NumericsError, "wrong query heads", wrong_query_heads, block=Block.ATTENTION
    ),
    "cached token": Fault(
        NumericsError,
        "the cache lacks a token",
        one_cached_token_forgotten,
        block=Block.ATTENTION,
        phase=Phase.DECODE,
    ),
    "input changed": Fault(NumericsError, "wrote to its input", an_mlp(InputChanged)),
    "activation changed": Fault(
        NumericsError, "changed in place", an_mlp(ActivationChangedAfterItWasSaved)
    ),
}


def spec_with(fault: Fault) -> PointSpec:
    shape = ModelShape(
        hidden_size=16,
        intermediate_size=24,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=2,
        gated=fault.gated,
        activation=Activation.SILU if fault.gated else Activation.GELU,
    )
    return PointSpec(model=shape, block=fault.block, phase=fault.phase, tp_degree=2, batch=1, seq=1)


def report(group: TensorParallelGroup, fault: Fault) -> str:
    """Return how the proof ends with `fault` planted: the error's class and message."""
    spec = spec_with(fault)
    entry = blocks.BlockEntry(REAL[spec.block].plan, fault.build)
    distorted = group.with_collectives(fault.distort(group.collectives, group.rank))
    with mock.patch.object(blocks, "REGISTRY", {spec.block: entry}):
        try:
            prove(
                spec,
                group=distorted,
                device=torch.device("cpu"),
                seed=3,
                reference_dtype=torch.float64,
            )
        except ProofError as error:
            return f"{type(error).__name__}: {error}"
    return "proved"


def report_all(group: TensorParallelGroup, impl: CollectiveImpl) -> dict[str, str]:
    """Plant one fault after the other in one group, and last none."""
    group = using(group, impl)
    reports = {name: report(group, fault) for name, fault in FAULTS.items()}
    return reports | {"none": report(group, Fault(NumericsError, ""))}


@pytest.mark.parametrize("impl", [CollectiveImpl.BACKEND, CollectiveImpl.SHARED_MEMORY])
def test_every_planted_fault_is_refused_on_every_rank(
    impl: CollectiveImpl, spawn_ranks: SpawnRanks
) -> None:
    first, second = cast("list[dict[str, str]]", spawn_ranks(2, report_all, impl))
    assert first == second, "the ranks came to different verdicts"
    assert first.pop("none") == "proved"
    unlike = {
        name: text
        for name, text in first.items()
        if not text.startswith(FAULTS[name].error.__name__ + ": ") or FAULTS[name].says not in text
    }
    assert not unlike
    assert "rank 1:" in first["wrong rank"] or "rank 0:" in first["wrong rank"]


def prove_without_sums(group: TensorParallelGroup) -> str:
    return report(group.with_collectives(NoCollectives()), Fault(NumericsError, ""))


def test_collectives_that_do_not_sum_cannot_exchange_a_verdict(spawn_ranks: SpawnRanks) -> None:
    for text in cast("list[str]", spawn_ranks(2, prove_without_sums)):
        assert text.startswith("NumericsError: ")
        assert "do not sum over all ranks" in text
