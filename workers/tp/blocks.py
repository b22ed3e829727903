"""The blocks that can be measured, by name, and how one rank's part of each is made.

Legend: H hidden, F intermediate, D head_dim, P ranks; of one rank: A query heads, K
key-value heads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import assert_never

import torch
from torch import Tensor

from workers.contract.axes import Block
from workers.contract.layouts import Cut
from workers.contract.point import LARGEST_TP_DEGREE, PointSpec
from workers.contract.workload import heads_per_rank
from workers.tp.attention import AttentionShard
from workers.tp.kv_cache import KvCache, needs_cache
from workers.tp.layer import LayerShard
from workers.tp.mlp import MlpShard
from workers.tp.overlaps.chunked import HalvedBlock
from workers.tp.overlaps.registry import OVERLAPS
from workers.tp.sharded_block import ShardedBlock
from workers.tp.stage import Stage

QUERY_KEY_VALUE = "query_key_value"
"""The one weight that ranks may hold copies in."""


@dataclass(frozen=True, slots=True)
class WeightPlan:
    """One weight of a rank before it exists."""

    name: str
    shape: tuple[int, ...]
    fan_in: int
    """Inputs of the whole matrix, all ranks together; 0 for the weight of a norm."""


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """How a block is planned and put together; one for each `Block`."""

    plan: Callable[[PointSpec], tuple[WeightPlan, ...]]
    assemble: Callable[[PointSpec, Sequence[Tensor], KvCache | None], ShardedBlock]


def draw_shard(
    spec: PointSpec, *, rank: int, seed: int, device: torch.device, dtype: torch.dtype
) -> ShardedBlock:
    """Draw this rank's part alone, normal with variance 1/fan_in: for timing.

    Drawn on the device, each rank from its own stream, so copies of a replicated key-value head
    differ: the proof has its own weights. Norms are ones.
    """
    generator = torch.Generator(device).manual_seed((seed * LARGEST_TP_DEGREE + rank) % 2**63)
    weights = []
    for plan in REGISTRY[spec.block].plan(spec):
        weight = torch.ones(plan.shape, device=device, dtype=dtype)
        if plan.fan_in:
            weight.normal_(std=plan.fan_in**-0.5, generator=generator)
        weights.append(weight.requires_grad_(spec.phase.has_backward))
    if not needs_cache(spec):
        return assemble(spec, weights)
    _, num_kv_heads = heads_per_rank(spec.model, spec.num_shards)
    cache = KvCache.draw(spec, num_kv_heads=num_kv_heads, generator=generator, dtype=dtype)
    return assemble(spec, weights, cache=cache)


def assemble(
    spec: PointSpec, weights: Sequence[Tensor], *, cache: KvCache | None = None
) -> ShardedBlock:
    """Put one rank's block together from its weights, in the order of `plan_weights`.

    `cache` where the spec needs one: it holds this rank's key-value heads.
    """
    return REGISTRY[spec.block].assemble(spec, weights, cache)


def plan_weights(spec: PointSpec) -> tuple[WeightPlan, ...]:
    """Name and size the weights of one rank."""
    return REGISTRY[spec.block].plan(spec)


def _plan_mlp(spec: PointSpec) -> tuple[WeightPlan, ...]:
    hidden, inner = spec.model.hidden_size, spec.model.intermediate_size
    names = ("gate", "up") if spec.model.gated else ("up",)
    first = _part(spec, spec.layout.first, (inner, hidden))
    second = _part(spec, spec.layout.second, (hidden, inner))
    return (
        *(WeightPlan(name, first, fan_in=hidden) for name in names),
        WeightPlan("down", second, fan_in=inner),
    )


def _plan_attention(spec: PointSpec) -> tuple[WeightPlan, ...]:
    """The first matrix goes by heads: a rank's columns are whole heads, some perhaps copies."""
    shape = spec.model
    heads, kv_heads = heads_per_rank(shape, spec.num_shards)
    width = (heads + 2 * kv_heads) * shape.head_dim
    whole = shape.num_attention_heads * shape.head_dim
    output = _part(spec, spec.layout.second, (shape.hidden_size, whole))
    return (
        WeightPlan(QUERY_KEY_VALUE, (width, shape.hidden_size), fan_in=shape.hidden_size),
        WeightPlan("output", output, fan_in=whole),
    )


def _part(spec: PointSpec, cut: Cut, whole: tuple[int, int]) -> tuple[int, int]:
    """Return what one rank holds of a matrix [out, in]."""
    rows, columns = whole
    match cut:
        case Cut.WHOLE:
            return whole
        case Cut.COLUMN:
            return rows // spec.tp_degree, columns
        case Cut.ROW:
            return rows, columns // spec.tp_degree
        case _:
            assert_never(cut)


def _plan_layer(spec: PointSpec) -> tuple[WeightPlan, ...]:
    norm = (spec.model.hidden_size,)
    return (
        WeightPlan("attention_norm", norm, fan_in=0),
        *_plan_attention(spec),
        WeightPlan("mlp_norm", norm, fan_in=0),
        *_plan_mlp(spec),
    )


def _assemble_mlp(
    spec: PointSpec, weights: Sequence[Tensor], _cache: KvCache | None = None
) -> MlpShard | HalvedBlock:
    *gate, up, down = weights
    shard = MlpShard(
        up,
        down,
        spec.model.activation,
        gate=gate[0] if gate else None,
        products=OVERLAPS[spec.overlap].products[spec.arrangement],
    )
    return HalvedBlock((shard, shard)) if _is_halved(spec) else shard


def _assemble_attention(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> AttentionShard | HalvedBlock:
    heads, kv_heads = heads_per_rank(spec.model, spec.num_shards)
    query_key_value, output = weights
    shard = AttentionShard(
        query_key_value,
        output,
        heads,
        kv_heads,
        spec.model.head_dim,
        cache,
        products=OVERLAPS[spec.overlap].products[spec.arrangement],
        num_sequences=spec.batch if spec.layout.has_token_shards else 0,
    )
    if not _is_halved(spec):
        return shard
    first, second = cache.halves() if cache else (None, None)
    return HalvedBlock((replace(shard, cache=first), replace(shard, cache=second)))


def _is_halved(spec: PointSpec) -> bool:
    """Whether there is something to send under the other half; one rank alone is plain."""
    return OVERLAPS[spec.overlap].is_halved and spec.tp_degree > 1


def _assemble_layer(
    spec: PointSpec, weights: Sequence[Tensor], cache: KvCache | None
) -> LayerShard | Stage:
    attention_norm, query_key_value, output, mlp_norm, *mlp = weights
    layer = LayerShard(
        attention_norm,
        _assemble_attention(spec, (query_key_value, output), cache),
        mlp_norm,
        _assemble_mlp(spec, mlp),
    )
    return Stage(layer) if spec.num_layers > 1 else layer


REGISTRY: Mapping[Block, BlockEntry] = MappingProxyType(
    {
        Block.MLP: BlockEntry(_plan_mlp, _assemble_mlp),
        Block.ATTENTION: BlockEntry(_plan_attention, _assemble_attention),
        Block.LAYER: BlockEntry(_plan_layer, _assemble_layer),
    }
)
