"""The twin against torch's own modules, and the cut against plain indexing."""

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from tests.unit.tp.specs import point_specs
from workers.contract.axes import Arrangement, Block, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.tp import reference
from workers.tp.reference import cut, draw_twin

CPU = torch.device("cpu")


def spec_of(block: Block, **shape: object) -> PointSpec:
    sizes = {"hidden_size": 12, "intermediate_size": 20, "num_attention_heads": 4} | shape
    model = ModelShape.model_validate(sizes)
    return PointSpec(model=model, block=block, phase=Phase.PREFILL, tp_degree=1, batch=2, seq=5)


def test_the_attention_twin_is_torchs_multi_head_attention() -> None:
    twin = draw_twin(spec_of(Block.ATTENTION), seed=0, device=CPU, dtype=torch.float64)
    query, key, value, output = twin.weights
    x_BSH = torch.randn(2, 5, 12, dtype=torch.float64)
    x_SBH = x_BSH.transpose(0, 1)
    expected_SBH, _ = F.multi_head_attention_forward(
        x_SBH,
        x_SBH,
        x_SBH,
        embed_dim_to_check=12,
        num_heads=4,
        in_proj_weight=torch.cat((query, key, value)),
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0,
        out_proj_weight=output,
        out_proj_bias=None,
        attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
        need_weights=False,
    )
    torch.testing.assert_close(twin.forward(x_BSH), expected_SBH.transpose(0, 1))


def test_the_plain_mlp_twin_is_two_linear_modules() -> None:
    twin = draw_twin(spec_of(Block.MLP), seed=0, device=CPU, dtype=torch.float64)
    up, down = torch.nn.Linear(12, 20, bias=False), torch.nn.Linear(20, 12, bias=False)
    up.weight, down.weight = (torch.nn.Parameter(weight) for weight in twin.weights)
    x_BSH = torch.randn(2, 5, 12, dtype=torch.float64)
    expected = torch.nn.Sequential(up, torch.nn.GELU(), down)(x_BSH)
    torch.testing.assert_close(twin.forward(x_BSH), expected)


def test_the_gated_mlp_twin_activates_the_gate_and_not_the_up() -> None:
    twin = draw_twin(spec_of(Block.MLP, gated=True), seed=0, device=CPU, dtype=torch.float64)
    gate, up, down = twin.weights
    x_BSH = torch.randn(2, 5, 12, dtype=torch.float64)
    gated = x_BSH @ gate.T
    expected = (gated * gated.sigmoid() * (x_BSH @ up.T)) @ down.T
    torch.testing.assert_close(twin.forward(x_BSH), expected)


def test_the_layer_twin_normalises_before_each_block_and_adds_after() -> None:
    twin = draw_twin(spec_of(Block.LAYER), seed=0, device=CPU, dtype=torch.float64)
    attention_norm, *attention, mlp_norm, up, down = twin.weights
    x_BSH = torch.randn(2, 5, 12, dtype=torch.float64)

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    inner = reference.Twin(spec_of(Block.ATTENTION), tuple(attention))
    h_BSH = x_BSH + inner.forward(norm(x_BSH, attention_norm))
    expected = h_BSH + F.gelu(norm(h_BSH, mlp_norm) @ up.T) @ down.T
    torch.testing.assert_close(twin.forward(x_BSH), expected)


@settings(max_examples=100)
@given(spec=point_specs(largest_tp_degree=8, arrangements=[Arrangement.COLUMN_ROW]))
def test_the_parts_of_all_ranks_put_together_are_the_whole(spec: PointSpec) -> None:
    """Rows of first matrices stacked, columns of second ones side by side, copies all alike."""
    whole = draw_twin(spec, seed=0, device=CPU, dtype=torch.float32).weights
    size = spec.tp_degree
    ranks = [cut(spec, whole, rank=rank, size=size) for rank in range(size)]
    parts = list(zip(*ranks, strict=True))
    expected = list(whole)
    if spec.block is Block.LAYER:
        for index, norm in ((0, whole[0]), (3, whole[5])):
            assert all(torch.equal(part, norm) for part in parts[index])
        parts = parts[1:3] + parts[4:]
        expected = [*whole[1:5], *whole[6:]]
    if spec.block is not Block.MLP:
        mixed, output, *parts = parts
        query, key, value, whole_output, *expected = expected
        assert torch.equal(torch.cat(output, dim=1), whole_output)
        width = spec.model.num_attention_heads // size * spec.model.head_dim
        assert torch.equal(torch.cat([part[:width] for part in mixed]), query)
        halves = [part[width:].chunk(2) for part in mixed]
        for half, matrix in ((0, key), (1, value)):
            once = [pair[half] for pair in halves[:: spec.kv_copies]]
            assert torch.equal(torch.cat(once), matrix)
            again = [pair[half] for pair in halves[spec.kv_copies - 1 :: spec.kv_copies]]
            assert torch.equal(torch.cat(again), matrix)
    if spec.block is not Block.ATTENTION:
        *first, second = parts
        assert all(
            torch.equal(torch.cat(rows), matrix)
            for rows, matrix in zip(first, expected[:-1], strict=True)
        )
        assert torch.equal(torch.cat(second, dim=1), expected[-1])


def test_every_rank_draws_the_same_twin_and_another_seed_another() -> None:
    def draw(seed: int) -> tuple[Tensor, ...]:
        return draw_twin(spec_of(Block.LAYER), seed=seed, device=CPU, dtype=torch.float32).weights

    assert all(torch.equal(a, b) for a, b in zip(draw(3), draw(3), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(draw(3), draw(4), strict=True))


def test_a_twin_larger_than_the_pool_repeats_out_of_step_with_rows_and_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reference, "LARGEST_POOL", 97)
    up, down = draw_twin(spec_of(Block.MLP), seed=0, device=CPU, dtype=torch.float64).weights
    assert len(up.unique(dim=0)) == 20
    assert not torch.equal(*up.chunk(2))
    assert len(down.unique(dim=0)) == 12
    assert up.flatten().unique().numel() == 97
    assert float(up.std()) == pytest.approx(12**-0.5, rel=0.25)
