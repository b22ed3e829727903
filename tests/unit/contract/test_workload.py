import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tests.unit.contract.points import point, shape
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.workload import (
    cached_per_rank,
    expected_messages,
    flops_per_rank,
    weights_per_rank,
)

MLP, ATTENTION, LAYER = Block.MLP, Block.ATTENTION, Block.LAYER


@pytest.mark.parametrize(
    ("block", "phase", "places"),
    [
        (MLP, Phase.TRAIN, ["mlp.forward", "mlp.backward"]),
        (ATTENTION, Phase.TRAIN, ["attention.forward", "attention.backward"]),
        (
            LAYER,
            Phase.TRAIN,
            ["attention.forward", "mlp.forward", "mlp.backward", "attention.backward"],
        ),
        (MLP, Phase.PREFILL, ["mlp.forward"]),
        (ATTENTION, Phase.PREFILL, ["attention.forward"]),
        (LAYER, Phase.PREFILL, ["attention.forward", "mlp.forward"]),
        (MLP, Phase.DECODE, ["mlp.forward"]),
        (ATTENTION, Phase.DECODE, ["attention.forward"]),
        (LAYER, Phase.DECODE, ["attention.forward", "mlp.forward"]),
    ],
)
def test_a_step_sends_these_messages_in_this_order(
    block: Block, phase: Phase, places: list[str]
) -> None:
    messages = expected_messages(point(block=block, phase=phase))
    assert [message.where for message in messages] == places
    assert {message.op for message in messages} == {"all_reduce"}


@pytest.mark.parametrize("block", Block)
@pytest.mark.parametrize("phase", Phase)
def test_one_rank_sends_nothing(block: Block, phase: Phase) -> None:
    assert expected_messages(point(block=block, phase=phase, tp_degree=1)) == ()


@given(
    batch=st.integers(1, 4096),
    seq=st.integers(1, 4096),
    hidden=st.sampled_from([64, 8192]),
    dtype=st.sampled_from(Dtype),
    tp_degree=st.sampled_from([2, 4, 8]),
)
def test_a_message_is_the_whole_output_whatever_the_degree(
    batch: int, seq: int, hidden: int, dtype: Dtype, tp_degree: int
) -> None:
    element = 4 if dtype is Dtype.FLOAT32 else 2
    spec = point(shape(hidden=hidden), batch=batch, seq=seq, dtype=dtype, tp_degree=tp_degree)
    for message in expected_messages(spec):
        assert message.message_bytes == batch * seq * hidden * element


@given(batch=st.integers(1, 4096), seq=st.integers(1, 4096))
def test_a_decode_step_sends_one_token_of_each_sequence_whatever_is_cached(
    batch: int, seq: int
) -> None:
    spec = point(shape(hidden=64), phase=Phase.DECODE, block=LAYER, batch=batch, seq=seq)
    assert spec.num_tokens == batch
    assert [m.message_bytes for m in expected_messages(spec)] == [batch * 64 * 4] * 2


def test_a_rank_caches_keys_and_values_of_its_heads_and_of_the_steps_own_token() -> None:
    model = shape(heads=8, kv_heads=2, head_dim=16)
    for tp_degree, kv_heads in ((1, 2), (2, 1), (4, 1)):
        spec = point(model, block=LAYER, phase=Phase.DECODE, tp_degree=tp_degree, batch=3, seq=5)
        assert cached_per_rank(spec) == 2 * 3 * 6 * kv_heads * 16
    assert cached_per_rank(point(model, block=MLP, phase=Phase.DECODE)) == 0
    assert cached_per_rank(point(model, block=LAYER, phase=Phase.PREFILL)) == 0


def counted_flops(spec: PointSpec) -> int:
    """What torch counts for one rank's matrices, written out plainly; no causal saving."""
    model, t = spec.model, spec.tp_degree
    q = model.num_attention_heads // t * model.head_dim
    kv = max(1, model.num_key_value_heads // t) * model.head_dim
    is_train = spec.phase is Phase.TRAIN
    x = torch.empty(spec.num_tokens, model.hidden_size, device="meta", requires_grad=is_train)

    def weight(rows: int, columns: int) -> Tensor:
        return torch.empty(rows, columns, device="meta", requires_grad=is_train)

    with FlopCounterMode(display=False) as counter:
        out = x
        if spec.block is not MLP:
            query = x @ weight(model.hidden_size, q)
            key, value = (x @ weight(model.hidden_size, kv) for _ in range(2))
            out = (query + key.sum() + value.sum()) @ weight(q, model.hidden_size)
        if spec.block is not ATTENTION:
            inner = out @ weight(model.hidden_size, model.intermediate_size // t)
            if model.gated:
                inner = inner * (out @ weight(model.hidden_size, model.intermediate_size // t))
            out = inner @ weight(model.intermediate_size // t, model.hidden_size)
        if is_train:
            out.sum().backward()
    return int(counter.get_total_flops())


def score_flops(spec: PointSpec) -> int:
    """Every query against every key it may see, and every value it takes, one by one."""
    if spec.block is MLP:
        return 0
    heads = spec.model.num_attention_heads // spec.tp_degree
    keys, first = (spec.seq + 1, spec.seq) if spec.phase is Phase.DECODE else (spec.seq, 0)
    pairs = sum(key <= query for query in range(first, keys) for key in range(keys))
    forward = spec.batch * heads * pairs * 2 * (2 * spec.model.head_dim)
    return forward * (3 if spec.phase is Phase.TRAIN else 1)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("tp_degree", [1, 2, 8])
@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("block", Block)
def test_operations_are_those_that_torch_counts(
    block: Block, phase: Phase, tp_degree: int, *, gated: bool
) -> None:
    model = shape(kv_heads=2, head_dim=16, gated=gated)
    spec = point(model, block=block, phase=phase, tp_degree=tp_degree, batch=3, seq=5)
    assert flops_per_rank(spec) == counted_flops(spec) + score_flops(spec)


def test_ranks_hold_all_weights_once_but_for_copied_key_value_heads() -> None:
    model = shape(kv_heads=2, gated=True)
    whole = {block: weights_per_rank(point(model, block=block, tp_degree=1)) for block in Block}
    assert whole == {MLP: 3 * 64 * 256, ATTENTION: (2 * 64 + 2 * 16) * 64, LAYER: 59392}
    assert 4 * weights_per_rank(point(model, block=MLP, tp_degree=4)) == whole[MLP]
    copied = 4 * weights_per_rank(point(model, block=ATTENTION, tp_degree=4)) - whole[ATTENTION]
    assert copied == 2 * 16 * 64
