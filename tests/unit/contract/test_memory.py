from hypothesis import given
from hypothesis import strategies as st

from tests.unit.contract.points import point, shape
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.memory import estimated_bytes
from workers.contract.workload import weights_per_rank

BLOCKS = st.sampled_from(Block)
PHASES = st.sampled_from(Phase)


@given(block=BLOCKS, phase=PHASES, batch=st.integers(1, 999), seq=st.integers(1, 999))
def test_more_tokens_never_take_less(block: Block, phase: Phase, batch: int, seq: int) -> None:
    now = estimated_bytes(point(block=block, phase=phase, batch=batch, seq=seq))
    assert estimated_bytes(point(block=block, phase=phase, batch=batch + 1, seq=seq)) >= now
    assert estimated_bytes(point(block=block, phase=phase, batch=batch, seq=seq + 1)) >= now


@given(block=BLOCKS, phase=PHASES, batch=st.integers(1, 999))
def test_wider_models_never_take_less(block: Block, phase: Phase, batch: int) -> None:
    now = estimated_bytes(point(block=block, phase=phase, batch=batch))
    for wider in (shape(hidden=128), shape(ffn=512), shape(head_dim=16), shape(gated=True)):
        assert estimated_bytes(point(wider, block=block, phase=phase, batch=batch)) >= now


@given(block=BLOCKS, phase=PHASES, batch=st.integers(1, 999))
def test_more_ranks_never_take_more_each(block: Block, phase: Phase, batch: int) -> None:
    sizes = [
        estimated_bytes(point(block=block, phase=phase, batch=batch, tp_degree=degree))
        for degree in (1, 2, 4, 8)
    ]
    assert sizes == sorted(sizes, reverse=True)


@given(block=BLOCKS, phase=PHASES, dtype=st.sampled_from(Dtype))
def test_weights_and_their_gradients_are_inside(block: Block, phase: Phase, dtype: Dtype) -> None:
    spec = point(block=block, phase=phase, dtype=dtype)
    copies = 2 if phase is Phase.TRAIN else 1
    assert estimated_bytes(spec) > copies * weights_per_rank(spec) * dtype.num_bytes


def test_the_cache_is_inside_and_grows_with_what_is_cached() -> None:
    small, large = (
        estimated_bytes(point(block=Block.LAYER, phase=Phase.DECODE, batch=8, seq=seq))
        for seq in (1, 100_001)
    )
    assert large - small >= 8 * 100_000 * 2 * 64 // 2 * 4


def test_half_the_bytes_in_half_the_width() -> None:
    whole = estimated_bytes(point(dtype=Dtype.FLOAT32, batch=100))
    assert abs(2 * estimated_bytes(point(dtype=Dtype.BFLOAT16, batch=100)) - whole) <= 2
