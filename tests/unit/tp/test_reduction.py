import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tp.specs import point_specs
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.presets import PRESETS
from workers.contract.sharding import judge, valid_tp_degrees
from workers.tp.reduction import (
    LARGEST_NUM_HALVINGS,
    halve,
    halvings_needed,
    proof_bytes,
)

GIB = 1 << 30


def spec_of(name: str, *, block: Block = Block.LAYER, tp_degree: int = 1) -> PointSpec:
    return PointSpec(
        model=PRESETS[name].shape,
        block=block,
        phase=Phase.TRAIN,
        tp_degree=tp_degree,
        batch=2,
        seq=4,
        dtype=Dtype.BFLOAT16,
    )


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("num_halvings", [1, 4, 5])
def test_every_preset_keeps_its_ratios_and_degrees_exactly(name: str, num_halvings: int) -> None:
    """Heads to key-value heads to ranks; heads*head_dim and intermediate to hidden."""
    for tp_degree in valid_tp_degrees(PRESETS[name].shape, Block.MLP, largest=8):
        spec = spec_of(name, block=Block.MLP, tp_degree=tp_degree)
        whole, part = spec.model, halve(spec, num_halvings).model
        if whole.intermediate_size // tp_degree % (1 << num_halvings):
            continue
        assert part.num_attention_heads == whole.num_attention_heads
        assert part.num_key_value_heads == whole.num_key_value_heads
        assert part.hidden_size << num_halvings == whole.hidden_size
        assert part.intermediate_size << num_halvings == whole.intermediate_size
        assert part.head_dim << num_halvings == whole.head_dim


@given(spec=point_specs(largest_tp_degree=8), num_halvings=st.integers(0, LARGEST_NUM_HALVINGS))
def test_what_can_be_sharded_still_can_be_when_reduced(spec: PointSpec, num_halvings: int) -> None:
    reduced = halve(spec, num_halvings)
    assert judge(reduced) is None
    assert reduced.kv_copies == spec.kv_copies
    assert PointSpec.model_validate(reduced.model_dump()) == reduced
    assert (reduced == spec) or num_halvings > 0


def test_only_what_does_not_fit_is_reduced_and_no_more_than_it_must() -> None:
    spec = spec_of("llama-3-405b", tp_degree=8)
    needed = proof_bytes(spec, reference_bytes=4)
    assert needed > 20 * GIB
    assert halvings_needed(spec, memory_bytes=needed, reference_bytes=4) == 0
    assert halvings_needed(spec, memory_bytes=needed - 1, reference_bytes=4) == 1
    assert halvings_needed(spec, memory_bytes=needed // 20, reference_bytes=4) == 3
    assert halvings_needed(spec, memory_bytes=0, reference_bytes=4) == LARGEST_NUM_HALVINGS


def test_the_estimate_covers_twin_and_part_with_their_gradients() -> None:
    """Llama-2 7B's MLP in float64: 135,266,304 elements, all of them on the only rank."""
    spec = spec_of("llama-2-7b", block=Block.MLP)
    elements = 3 * 4096 * 11008
    train = 2 * (elements * 8 + elements * 8 + elements * 2) + elements * 8
    assert proof_bytes(spec, reference_bytes=8) == pytest.approx(1.2 * train)
    prefill = spec.model_copy(update={"phase": Phase.PREFILL})
    assert proof_bytes(prefill, reference_bytes=8) < 0.7 * 1.2 * train
