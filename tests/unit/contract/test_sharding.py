import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.contract.points import point, shape
from workers.contract.axes import Arrangement, Block, Phase
from workers.contract.catalogue import resolve_model
from workers.contract.shapes import ModelShape
from workers.contract.sharding import find_obstacle, judge, valid_tp_degrees

SIZES = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 12, 24, 25, 28, 32, 48, 64, 71, 128, 256])


@st.composite
def shapes(draw: st.DrawFn) -> ModelShape:
    kv_heads = draw(SIZES)
    heads = kv_heads * draw(st.sampled_from([1, 2, 3, 4, 7, 8, 16]))
    return shape(
        hidden=64, head_dim=8, ffn=draw(SIZES) * draw(SIZES), heads=heads, kv_heads=kv_heads
    )


def is_dealt_evenly(model: ModelShape, tp_degree: int) -> bool:
    """Deal query heads out rank by rank and see which key-value heads each one needs."""
    if model.num_attention_heads % tp_degree:
        return False
    per_rank = model.num_attention_heads // tp_degree
    group = model.num_attention_heads // model.num_key_value_heads
    needed = [
        frozenset(head // group for head in range(rank * per_rank, (rank + 1) * per_rank))
        for rank in range(tp_degree)
    ]
    holders = [sum(head in rank for rank in needed) for head in range(model.num_key_value_heads)]
    is_same_work = len({len(rank) for rank in needed}) == 1
    is_same_use = all(
        len({sum(h // group == kv for h in range(r * per_rank, (r + 1) * per_rank)) for kv in kvs})
        == 1
        for r, kvs in enumerate(needed)
    )
    return is_same_work and is_same_use and len(set(holders)) == 1


@given(model=shapes(), tp_degree=st.integers(1, 64))
def test_attention_is_judged_as_dealing_its_heads_out_shows(
    model: ModelShape, tp_degree: int
) -> None:
    found = find_obstacle(model, Block.ATTENTION, tp_degree=tp_degree)
    assert (found is None) == is_dealt_evenly(model, tp_degree)


@given(model=shapes(), tp_degree=st.integers(1, 64))
def test_mlp_is_judged_by_its_width_alone(model: ModelShape, tp_degree: int) -> None:
    found = find_obstacle(model, Block.MLP, tp_degree=tp_degree)
    assert (found is None) == (model.intermediate_size % tp_degree == 0)


@given(model=shapes(), block=st.sampled_from(Block), tp_degree=st.integers(1, 64))
def test_rejection_names_a_field_of_the_shape_and_only_degrees_that_work(
    model: ModelShape, block: Block, tp_degree: int
) -> None:
    rejection = judge(point(model, block=block, tp_degree=tp_degree))
    if rejection is None:
        assert tp_degree in valid_tp_degrees(model, block)
        return
    assert rejection.value == getattr(model, rejection.field)
    assert f"{rejection.field}={rejection.value}" in rejection.reason
    assert f"tp_degree={tp_degree}" in rejection.reason
    assert tp_degree not in rejection.valid_tp_degrees
    for degree in rejection.valid_tp_degrees:
        assert judge(point(model, block=block, tp_degree=degree)) is None


@given(model=shapes())
def test_layer_divides_where_both_of_its_blocks_do(model: ModelShape) -> None:
    mlp, attention = (set(valid_tp_degrees(model, b)) for b in (Block.MLP, Block.ATTENTION))
    assert set(valid_tp_degrees(model, Block.LAYER)) == mlp & attention


@pytest.mark.parametrize(
    ("heads", "kv_heads", "degrees"),
    [
        pytest.param(9, 3, (1, 3, 9), id="smollm-135m"),
        pytest.param(14, 2, (1, 2, 14), id="qwen2-0.5b"),
        pytest.param(40, 10, (1, 2, 5, 10, 20, 40), id="phi-3-medium"),
        pytest.param(52, 52, (1, 2, 4, 13, 26, 52), id="llama-30b"),
        pytest.param(112, 112, (1, 2, 4, 7, 8, 14, 16, 28, 56), id="bloom"),
        pytest.param(8, 1, (1, 2, 4, 8), id="gemma-2b"),
    ],
)
def test_awkward_heads_divide_as_worked_out_by_hand(
    heads: int, kv_heads: int, degrees: tuple[int, ...]
) -> None:
    model = shape(hidden=heads * 64, ffn=64, heads=heads, kv_heads=kv_heads)
    assert valid_tp_degrees(model, Block.ATTENTION) == degrees


@pytest.mark.parametrize(
    ("arrangement", "degrees"),
    [
        ("column_row", (1, 2, 4, 8)),
        ("column_column", (1, 2, 4)),
        ("row_column", (1, 2, 3, 4, 6, 12)),
        ("row_row", (1, 2, 4)),
        ("sequence_parallel", (1, 2, 4, 8)),
    ],
)
def test_an_arrangement_divides_the_widths_that_it_cuts(
    arrangement: Arrangement, degrees: tuple[int, ...]
) -> None:
    model = shape(hidden=12, ffn=8, heads=1)
    assert valid_tp_degrees(model, Block.MLP, arrangement=Arrangement(arrangement)) == degrees


def test_whole_weights_need_nothing_to_be_divisible() -> None:
    model = shape(hidden=7, ffn=5, heads=7)
    for block in Block:
        degrees = valid_tp_degrees(model, block, arrangement=Arrangement.REPLICATED)
        assert degrees == tuple(range(1, 65))


@pytest.mark.parametrize(
    ("phase", "degrees"), [(Phase.TRAIN, (1, 2, 3, 4, 6, 12)), (Phase.DECODE, (1, 3))]
)
def test_tokens_that_cannot_be_dealt_evenly_are_refused_by_batch(
    phase: Phase, degrees: tuple[int, ...]
) -> None:
    spec = point(shape(ffn=960), phase=phase, tp_degree=8, batch=3, seq=4).model_copy(
        update={"arrangement": Arrangement.SEQUENCE_PARALLEL}
    )
    rejection = judge(spec)
    assert rejection is not None
    assert (rejection.field, rejection.value) == ("batch", 3)
    assert f"{spec.num_tokens} tokens" in rejection.reason
    assert rejection.valid_tp_degrees == degrees


def test_eight_divides_the_heads_of_phi_3_medium_but_not_its_key_value_heads() -> None:
    model = shape(hidden=5120, ffn=17920, heads=40, kv_heads=10)
    obstacle = find_obstacle(model, Block.ATTENTION, tp_degree=8)
    assert obstacle is not None
    assert (obstacle.field, obstacle.value) == ("num_key_value_heads", 10)


@pytest.mark.parametrize("name", ["falcon-7b", "pythia-31m"])
def test_layer_of_a_parallel_block_is_refused_at_every_degree(name: str) -> None:
    model = resolve_model(name)
    rejection = judge(point(model, block=Block.LAYER, tp_degree=1))
    assert rejection is not None
    assert (rejection.field, rejection.value) == ("block", "layer")
    assert "merge their all-reduces" in rejection.reason
    assert rejection.valid_tp_degrees == ()


def test_copies_say_how_many_ranks_hold_each_key_value_head() -> None:
    model = resolve_model("llama-3-70b")
    attention = {t: point(model, block=Block.ATTENTION, tp_degree=t).kv_copies for t in (1, 8, 32)}
    assert attention == {1: 1, 8: 1, 32: 4}
    assert point(model, block=Block.LAYER, tp_degree=16).kv_copies == 2
    assert point(model, block=Block.MLP, tp_degree=32).kv_copies == 1
