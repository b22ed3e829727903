"""Model states against ZeRO's published figures, activations against their paper's formulas."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.memory_plan.activations import kept_bytes, kept_of_layer
from service.analysis.memory_plan.plan import plan
from service.analysis.memory_plan.precision import TRAINABLE, WIDTHS, Precision
from service.analysis.memory_plan.question import (
    MemoryQuestion,
    Recomputation,
    degrees_of,
    judge,
)
from service.analysis.memory_plan.states import model_states
from tests.unit.analysis.memory_plan.questions import question
from workers.contract.axes import Activation, Phase
from workers.contract.presets import PRESETS
from workers.contract.shapes import ModelShape
from workers.contract.whole_model import WholeModel

GB = 10**9


def gb(zero_stage: int, data_parallel: int, *, tp_degree: int = 1) -> float:
    """Of 70e9 parameters in float32 with Adam."""
    widths = WIDTHS[Precision.FLOAT32]
    states = model_states(
        70e9 / tp_degree, widths, zero_stage=zero_stage, data_parallel=data_parallel
    )
    return states.total / GB


def test_claim_5_seventy_billion_parameters_take_1120_gb_in_float32() -> None:
    states = model_states(70e9, WIDTHS[Precision.FLOAT32], zero_stage=0, data_parallel=8)
    assert (states.weights, states.gradients, states.optimizer) == (280 * GB, 280 * GB, 560 * GB)
    assert states.total == 1120 * GB


def test_claim_6_zero_3_over_eight_gpus_takes_140_gb_and_not_280() -> None:
    assert gb(3, 8) == 140


def test_claim_7_two_ranks_with_zero_2_never_come_below_140_gb() -> None:
    assert [gb(2, replicas, tp_degree=2) for replicas in (2, 4, 8)] == [350, 245, 192.5]
    assert gb(2, 1 << 16, tp_degree=2) >= 140


@pytest.mark.parametrize(("stage", "total_gb"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_the_example_of_the_zero_paper(stage: int, total_gb: float) -> None:
    """Figure 1 of arXiv:1910.02054: 7.5 billion parameters over 64 replicas, K = 12."""
    widths = WIDTHS[Precision.FLOAT16_MIXED]
    states = model_states(7.5e9, widths, zero_stage=stage, data_parallel=64)
    assert states.total / GB == pytest.approx(total_gb, rel=0.01)


# arXiv:2205.05198 table 3: heads, hidden, layers, tp_degree, micro-batch
MODELS_OF_THE_PAPER = {
    "22B": (64, 6144, 48, 8, 4),
    "175B": (96, 12288, 96, 8, 1),
    "530B": (128, 20480, 105, 8, 1),
}
SEQ, VOCAB = 2048, 51200


def of_the_paper(name: str, **more: object) -> MemoryQuestion:
    heads, hidden, layers, degree, batch = MODELS_OF_THE_PAPER[name]
    layer = ModelShape(
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=hidden // heads,
        activation=Activation.GELU,
    )
    return question(
        model=WholeModel(layer=layer, num_layers=layers, vocab_size=VOCAB),
        precision=Precision.FLOAT16_MIXED,
        tp_degree=degree,
        batch=batch,
        seq=SEQ,
        dropout=True,
        **more,
    )


@pytest.mark.parametrize("name", MODELS_OF_THE_PAPER)
def test_activations_of_a_layer_are_the_papers_formulas(name: str) -> None:
    heads, h, _, t, b = MODELS_OF_THE_PAPER[name]
    sbh, scores = SEQ * b * h, 5 * heads * SEQ / h
    none, selective, full = Recomputation.NONE, Recomputation.SELECTIVE, Recomputation.FULL
    whole = of_the_paper(name)
    assert kept_of_layer(whole, none) == pytest.approx(sbh * (10 + 24 / t + scores / t))
    assert kept_of_layer(whole, selective) == pytest.approx(sbh * (10 + 24 / t))
    assert kept_of_layer(whole, full) == 2 * sbh
    cut = of_the_paper(name, sequence_parallel=True)
    assert kept_of_layer(cut, none) == pytest.approx(sbh / t * (34 + scores))
    assert kept_of_layer(cut, selective) == pytest.approx(34 * sbh / t)


@pytest.mark.parametrize("name", MODELS_OF_THE_PAPER)
def test_activations_around_the_layers_are_the_papers(name: str) -> None:
    _, h, layers, t, b = MODELS_OF_THE_PAPER[name]
    cut = of_the_paper(name, sequence_parallel=True, recomputation=Recomputation.SELECTIVE)
    around = SEQ * b * h / t * (1 + 4 * (1 + VOCAB / h))
    in_layers = layers * kept_of_layer(cut, Recomputation.SELECTIVE)
    assert kept_bytes(cut) - in_layers == pytest.approx(around)


def test_cache_of_llama_2_7b_takes_half_a_megabyte_a_token() -> None:
    """2 * 32 layers * 4096 * 2 bytes, as arXiv:2309.06180 counts (800 KB for OPT-13B)."""
    asked = question(phase=Phase.DECODE, precision=Precision.FLOAT16, seq=4095)
    assert plan(asked).kv_cache_bytes == 4096 * 2 * 32 * 4096 * 2


def test_key_value_heads_fewer_than_ranks_are_held_more_than_once() -> None:
    eight, sixteen = (
        plan(question("llama-2-70b", phase=Phase.DECODE, tp_degree=degree)) for degree in (8, 16)
    )
    assert eight.kv_cache_bytes == sixteen.kv_cache_bytes


@pytest.mark.parametrize("precision", [Precision.BFLOAT16, Precision.INT8, Precision.INT4])
def test_inference_holds_neither_gradients_nor_optimizer(precision: Precision) -> None:
    found = plan(question(phase=Phase.PREFILL, precision=precision))
    assert (found.gradients_bytes, found.optimizer_bytes, found.activations_bytes) == (0, 0, 0)
    assert found.weights_bytes == found.parameters_per_rank * WIDTHS[precision].weight


@pytest.mark.parametrize(
    ("more", "field", "says"),
    [
        ({"tp_degree": 3}, "tp_degree", "these work: 1, 2, 4, 8, 16, 32"),
        ({"zero_stage": 4}, "zero_stage", "none of 0, 1, 2, 3"),
        ({"zero_stage": -1}, "zero_stage", "none of 0, 1, 2, 3"),
        ({"zero_stage": 1, "phase": Phase.DECODE}, "zero_stage", "only 0 works"),
        ({"precision": Precision.INT8}, "precision", "float32, bfloat16_mixed, float16_mixed"),
        (
            {"phase": Phase.PREFILL, "recomputation": Recomputation.FULL},
            "recomputation",
            "no backward",
        ),
        ({"tp_degree": 8, "sequence_parallel": True, "seq": 9}, "sequence_parallel", "9 tokens"),
    ],
)
def test_what_cannot_be_is_refused_with_what_works(
    more: dict[str, object], field: str, says: str
) -> None:
    found = judge(question(**more))
    assert found is not None
    assert found.field == field
    assert says in found.reason


QUESTIONS = st.builds(
    question,
    model=st.sampled_from(sorted(PRESETS)),
    precision=st.sampled_from(TRAINABLE),
    zero_stage=st.integers(0, 3),
    data_parallel=st.sampled_from([1, 2, 8]),
    recomputation=st.sampled_from(Recomputation),
    dropout=st.booleans(),
    batch=st.integers(1, 4),
    seq=st.sampled_from([64, 1024]),
)


@settings(max_examples=50)
@given(QUESTIONS)
def test_more_ranks_and_replicas_and_more_recomputation_never_hold_more(
    asked: MemoryQuestion,
) -> None:
    def total(**more: object) -> int:
        return plan(asked.model_copy(update=more)).total_bytes

    def held(**more: object) -> int:
        found = plan(asked.model_copy(update=more))
        return found.total_bytes - found.passing_bytes

    degrees = degrees_of(asked.model.layer)
    by_degree = [total(tp_degree=degree) for degree in degrees]
    assert by_degree == sorted(by_degree, reverse=True)
    by_replicas = [held(data_parallel=replicas) for replicas in (1, 2, 4)]
    assert by_replicas == sorted(by_replicas, reverse=True)
    by_kind = [held(recomputation=kind) for kind in Recomputation]
    assert by_kind == sorted(by_kind, reverse=True)
    by_stage = [held(zero_stage=stage) for stage in range(4)]
    assert by_stage == sorted(by_stage, reverse=True)


@settings(max_examples=50)
@given(QUESTIONS)
def test_the_parts_make_the_whole(asked: MemoryQuestion) -> None:
    found = plan(asked)
    parts = (
        *(found.weights_bytes, found.gradients_bytes, found.optimizer_bytes),
        *(found.activations_bytes, found.kv_cache_bytes, found.passing_bytes),
    )
    assert found.total_bytes == sum(parts)
    assert min(parts) >= 0
