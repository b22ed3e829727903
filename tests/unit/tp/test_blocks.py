import math

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from tests.unit.tp.specs import point_specs
from workers.contract.axes import Block, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.workload import weights_per_rank
from workers.tp.attention import AttentionShard, attend, attend_to_cache
from workers.tp.blocks import REGISTRY, draw_shard, plan_weights
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.kv_cache import KvCache
from workers.tp.layer import LayerShard
from workers.tp.sharded_block import forward_sequences

CPU = torch.device("cpu")
ALONE = TensorParallelGroup(rank=0, size=1, collectives=NoCollectives())


def spec_of(block: Block, *, tp_degree: int = 1, phase: Phase = Phase.TRAIN) -> PointSpec:
    shape = ModelShape.model_validate(
        {
            "hidden_size": 256,
            "intermediate_size": 512,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "gated": True,
        }
    )
    return PointSpec(model=shape, block=block, phase=phase, tp_degree=tp_degree, batch=2, seq=4)


def test_every_block_of_the_contract_is_registered() -> None:
    assert set(REGISTRY) == set(Block)


@settings(max_examples=200)
@given(spec=point_specs(largest_tp_degree=8))
def test_planned_weights_are_those_that_the_contract_counts(spec: PointSpec) -> None:
    """So FLOPs and memory, computed there, are of what runs here. Norms are left out there."""
    matrices = [plan.shape for plan in plan_weights(spec) if len(plan.shape) == 2]
    assert sum(math.prod(shape) for shape in matrices) == weights_per_rank(spec)


@pytest.mark.parametrize("block", list(Block))
def test_a_drawn_shard_is_of_the_planned_shapes_and_unit_gain(block: Block) -> None:
    spec = spec_of(block, tp_degree=2)
    shard = draw_shard(spec, rank=1, seed=7, device=CPU, dtype=torch.float32)
    for weight, plan in zip(shard.weights, plan_weights(spec), strict=True):
        assert weight.shape == plan.shape
        assert weight.is_contiguous()
        if plan.fan_in:
            assert float(weight.detach().std()) == pytest.approx(plan.fan_in**-0.5, rel=0.05)
        else:
            assert torch.equal(weight, torch.ones_like(weight))


def test_shards_are_repeated_by_seed_and_differ_by_rank_and_seed() -> None:
    def draw(rank: int, seed: int) -> Tensor:
        spec = spec_of(Block.MLP, tp_degree=2)
        return draw_shard(spec, rank=rank, seed=seed, device=CPU, dtype=torch.float32).weights[0]

    assert torch.equal(draw(0, 1), draw(0, 1))
    assert not torch.equal(draw(0, 1), draw(1, 1))
    assert not torch.equal(draw(0, 1), draw(0, 2))
    assert draw(0, 2**63 - 1).isfinite().all()


@pytest.mark.parametrize(("phase", "trained"), [(Phase.TRAIN, True), (Phase.PREFILL, False)])
def test_weights_are_leaves_that_require_grad_only_in_training(
    phase: Phase, *, trained: bool
) -> None:
    spec = spec_of(Block.LAYER, phase=phase)
    for weight in draw_shard(spec, rank=0, seed=0, device=CPU, dtype=torch.bfloat16).weights:
        assert weight.is_leaf
        assert weight.requires_grad is trained
        assert weight.dtype is torch.bfloat16


@pytest.mark.parametrize("block", list(Block))
def test_an_input_in_any_layout_gives_the_same(block: Block) -> None:
    shard = draw_shard(spec_of(block), rank=0, seed=0, device=CPU, dtype=torch.float32)
    x_BSH = torch.randn(1, 4, 256)
    strided_BSH = x_BSH.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
    assert not strided_BSH.is_contiguous()
    out_BSH = forward_sequences(shard, strided_BSH, ALONE)
    torch.testing.assert_close(out_BSH, forward_sequences(shard, x_BSH, ALONE), rtol=0, atol=1e-5)
    (grad_BSH,) = torch.autograd.grad(out_BSH, strided_BSH, torch.ones_like(out_BSH))
    assert grad_BSH.shape == x_BSH.shape


@pytest.mark.parametrize("block", [Block.ATTENTION, Block.LAYER])
def test_no_token_sees_the_ones_after_it_nor_another_sequence(block: Block) -> None:
    shard = draw_shard(spec_of(block), rank=0, seed=0, device=CPU, dtype=torch.float32)
    x_BSH = torch.randn(2, 4, 256)
    changed_BSH = x_BSH.clone()
    changed_BSH[0, 2] += 1
    same = (
        forward_sequences(shard, x_BSH, ALONE) == forward_sequences(shard, changed_BSH, ALONE)
    ).all(dim=-1)
    assert same.tolist() == [[True, True, False, False], [True, True, True, True]]


@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_grouped_attention_equals_repeated_heads(kv_heads: int) -> None:
    q = torch.randn(2, 6, 5, 4, dtype=torch.float64)
    k, v = (torch.randn(2, kv_heads, 5, 4, dtype=torch.float64) for _ in range(2))
    repeated = (heads.repeat_interleave(6 // kv_heads, dim=1) for heads in (k, v))
    torch.testing.assert_close(attend(q, k, v), attend(q, *repeated), rtol=0, atol=1e-14)


@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_a_new_token_sees_all_cached_ones_as_the_last_of_a_causal_forward_does(
    kv_heads: int,
) -> None:
    q = torch.randn(2, 6, 5, 4, dtype=torch.float64)
    k, v = (torch.randn(2, kv_heads, 5, 4, dtype=torch.float64) for _ in range(2))
    last = attend(q, k, v)[:, :, -1:]
    cache = KvCache.of(k[:, :, :-1], v[:, :, :-1])
    decoded = attend_to_cache(q[:, :, -1:], *cache.append(k[:, :, -1:], v[:, :, -1:]))
    torch.testing.assert_close(decoded, last, rtol=0, atol=1e-14)


def test_a_drawn_cache_is_normal_of_this_ranks_heads_and_has_room_for_one_more() -> None:
    spec = spec_of(Block.LAYER, tp_degree=2, phase=Phase.DECODE)
    shard = draw_shard(spec, rank=1, seed=7, device=CPU, dtype=torch.bfloat16)
    assert isinstance(shard, LayerShard)
    assert isinstance(shard.attention, AttentionShard)
    assert shard.attention.cache is not None
    for part in (shard.attention.cache.keys, shard.attention.cache.values):
        assert part.shape == (2, 1, 5, 32)
        assert part.dtype is torch.bfloat16
        assert float(part.float().std()) == pytest.approx(1, rel=0.2)


def test_decode_steps_neither_grow_nor_change_what_is_cached() -> None:
    spec = spec_of(Block.ATTENTION, phase=Phase.DECODE)
    shard = draw_shard(spec, rank=0, seed=7, device=CPU, dtype=torch.float32)
    assert isinstance(shard, AttentionShard)
    assert shard.cache is not None
    x_BSH, before = torch.randn(2, 1, 256), shard.cache.keys.clone()
    first, second = forward_sequences(shard, x_BSH, ALONE), forward_sequences(shard, x_BSH, ALONE)
    assert torch.equal(first, second)
    assert torch.equal(shard.cache.keys[:, :, :-1], before[:, :, :-1])
    assert not torch.equal(shard.cache.keys[:, :, -1], before[:, :, -1])


def test_attention_over_grouped_heads_never_writes_out_all_scores() -> None:
    """The kernel in use keeps memory linear in seq: S*S scores of 8 heads would be 2 GiB here."""
    q = torch.randn(1, 8, 8192, 8)
    k = torch.randn(1, 2, 8192, 8)
    with torch.autograd.graph.saved_tensors_hooks(reject_large, lambda tensor: tensor):
        attend(q.requires_grad_(), k, k)


def reject_large(tensor: Tensor) -> Tensor:
    assert tensor.numel() < 8192 * 8192
    return tensor
