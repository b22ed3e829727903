# ruff: noqa: ARG002 - wrong blocks take what right ones take
"""Sharded blocks that are wrong on purpose, and what builds them in place of the right ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.contract.axes import Arrangement
from workers.contract.point import PointSpec
from workers.contract.workload import heads_per_rank
from workers.tp import blocks
from workers.tp.arrangements.registry import ARRANGEMENTS
from workers.tp.attention import AttentionShard
from workers.tp.group import TensorParallelGroup
from workers.tp.kv_cache import KvCache
from workers.tp.linear import column_parallel, row_parallel
from workers.tp.mappings import copy_to_ranks
from workers.tp.mlp import MlpShard
from workers.tp.sharded_block import ShardedBlock


class DetachedInput(MlpShard):
    """What a block input without requires_grad does."""

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        return MlpShard.forward(self, x_TH.detach(), group, batch=batch)


class WithoutG(MlpShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        (up_TF,) = column_parallel(x_TH, self.up, group=group, where="mlp.backward")
        return F.linear(F.gelu(up_TF), self.down)


class WithoutF(MlpShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        inner_TF = F.gelu(F.linear(x_TH, self.up))
        return row_parallel(inner_TF, self.down, group=group, where="mlp.forward")


class ReducedTwice(MlpShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        out_TH = MlpShard.forward(self, x_TH, group, batch=batch)
        group.collectives.all_reduce(out_TH.data, where="mlp.forward")
        return out_TH


class AnFForEachMatrix(MlpShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        assert self.gate is not None
        (gate_TF,) = column_parallel(x_TH, self.gate, group=group, where="mlp.backward")
        (up_TF,) = column_parallel(x_TH, self.up, group=group, where="mlp.backward")
        inner_TF = F.silu(gate_TF) * up_TF
        return row_parallel(inner_TF, self.down, group=group, where="mlp.forward")


class GateAndUpSwapped(MlpShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        assert self.gate is not None
        swapped = MlpShard(up=self.gate, down=self.down, activation=self.activation, gate=self.up)
        return swapped.forward(x_TH, group, batch=batch)


class InputChanged(MlpShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        out_TH = MlpShard.forward(self, x_TH, group, batch=batch)
        x_TH.data.mul_(2)
        return out_TH


class ActivationChangedAfterItWasSaved(MlpShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        (up_TF,) = column_parallel(x_TH, self.up, group=group, where="mlp.backward")
        inner_TF = F.gelu(up_TF)
        out_TH = row_parallel(inner_TF, self.down, group=group, where="mlp.forward")
        inner_TF.data.zero_()
        return out_TH


class InnerActivationReduced(MlpShard):
    """The right number of collectives, the wrong tensor."""

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        x_TH = copy_to_ranks(x_TH, group, where="mlp.backward")
        inner_TF = F.gelu(F.linear(x_TH, self.up))
        group.collectives.all_reduce(inner_TF.data, where="mlp.forward")
        return F.linear(inner_TF, self.down)


class OneCachedTokenForgotten(AttentionShard):
    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        assert self.cache is not None
        short = KvCache(self.cache.keys[:, :, 1:], self.cache.values[:, :, 1:])
        without = replace(self, cache=short)
        return AttentionShard.forward(without, x_TH, group, batch=batch)


class WrongQueryHeads(AttentionShard):
    """Key-value heads in the wrong order: consecutive query heads no longer share one."""

    def forward(self, x_TH: Tensor, group: TensorParallelGroup, *, batch: int) -> Tensor:
        rows = self.query_key_value.unflatten(0, (-1, self.head_dim))
        heads, kv_heads = self.num_heads, self.num_kv_heads
        q, k, v = rows.split((heads, kv_heads, kv_heads))
        mixed = torch.cat((q, k.flip(0), v.flip(0))).flatten(0, 1)
        wrong = AttentionShard(mixed, self.output, heads, kv_heads, self.head_dim)
        return wrong.forward(x_TH, group, batch=batch)


REAL = blocks.REGISTRY

Build = Callable[[PointSpec, Sequence[Tensor], KvCache | None], ShardedBlock]


def real(spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None) -> ShardedBlock:
    return REAL[spec.block].assemble(spec, weights, cache)


def an_mlp(cls: type[MlpShard]) -> Build:
    def build(spec: PointSpec, weights: Sequence[Tensor], _cache: KvCache | None) -> MlpShard:
        *gate, up, down = weights
        return cls(up, down, spec.model.activation, gate=gate[0] if gate else None)

    return build


def arranged_as(arrangement: Arrangement) -> Build:
    """Cut and run another way than the point says, where the shapes allow it."""

    def build(spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None) -> MlpShard:
        other = real(spec, weights, cache)
        assert isinstance(other, MlpShard)
        return replace(other, products=ARRANGEMENTS[arrangement])

    return build


def wrong_query_heads(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> AttentionShard:
    heads, kv_heads = heads_per_rank(spec.model, spec.tp_degree)
    mixed, output = weights
    return WrongQueryHeads(mixed, output, heads, kv_heads, spec.model.head_dim, cache)


def one_cached_token_forgotten(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> AttentionShard:
    heads, kv_heads = heads_per_rank(spec.model, spec.tp_degree)
    mixed, output = weights
    return OneCachedTokenForgotten(mixed, output, heads, kv_heads, spec.model.head_dim, cache)


def cut_the_other_way(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> ShardedBlock:
    """Shapes as if rows and columns were mixed up."""
    turned = [weight.detach().T.contiguous().requires_grad_() for weight in weights]
    return real(spec, turned, cache)


def dealt_wrongly_on_rank_1(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> ShardedBlock:
    """The columns of the first matrix do not match the rows of the second."""
    up, down = weights
    dealt = up.detach().flip(0).requires_grad_() if dist.get_rank() else up
    return real(spec, (dealt, down), cache)
