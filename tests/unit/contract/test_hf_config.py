import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.contract.configs import (
    BLOOM,
    CASES,
    CHAT_GLM,
    CODE_SHELL,
    COMMAND_R,
    FALCON_11B,
    FALCON_40B,
    FALCON_40B_OLD,
    FALCON_RW,
    GEMMA_2,
    GPT_J,
    GPT_NEO,
    GRANITE_4_MICRO,
    JSON,
    LLAMA,
    MPT,
    MPT_GROUPED,
    MPT_MULTI_QUERY,
    NEMOTRON,
    PHI_AS_IT_CAME,
    PYTHIA,
    QWEN_1,
    SANTA_CODER,
    STABLE_LM,
    STARCODER,
    STARCODER_2,
    TELE_CHAT,
    XGLM,
    load,
)
from workers.contract.axes import Block
from workers.contract.catalogue import resolve_model
from workers.contract.sharding import valid_tp_degrees

POWERS = (1, 2, 4, 8, 16, 32, 64)

# hidden, ffn, heads, kv heads, head_dim, gated, activation, parallel
SHAPES = {
    "falcon-7b": (4544, 18176, 71, 1, 64, False, "gelu", True),
    "gemma-7b": (3072, 24576, 16, 16, 256, True, "gelu_tanh", False),
    "gpt2-xl": (1600, 6400, 25, 25, 64, False, "gelu_tanh", False),
    "meta-llama-3-70b": (8192, 28672, 64, 8, 128, True, "silu", False),
    "opt-66b": (9216, 36864, 72, 72, 128, False, "relu", False),
    "phi-2": (2560, 10240, 32, 32, 80, False, "gelu_tanh", True),
    "qwen2.5-7b": (3584, 18944, 28, 4, 128, True, "silu", False),
    "qwen3-32b": (5120, 25600, 64, 8, 128, True, "silu", False),
}

# Degrees into which attention divides, with copies of key-value heads where they are fewer.
ATTENTION_DEGREES = {
    "falcon-7b": (1,),
    "gemma-7b": (1, 2, 4, 8, 16),
    "gpt2-xl": (1, 5, 25),
    "meta-llama-3-70b": (1, 2, 4, 8, 16, 32, 64),
    "opt-66b": (1, 2, 3, 4, 6, 8, 9, 12, 18, 24, 36),
    "phi-2": (1, 2, 4, 8, 16, 32),
    "qwen2.5-7b": (1, 2, 4, 28),
    "qwen3-32b": (1, 2, 4, 8, 16, 32, 64),
}


def figures(entries: Mapping[str, object]) -> tuple[object, ...]:
    shape = resolve_model(dict(entries))
    return (
        shape.hidden_size,
        shape.intermediate_size,
        shape.num_attention_heads,
        shape.num_key_value_heads,
        shape.head_dim,
        shape.gated,
        str(shape.activation),
        shape.parallel_block,
    )


def test_every_case_file_is_judged() -> None:
    names = {path.stem for path in CASES.glob("*.json")}
    assert names == set(SHAPES) | {"mixtral-8x7b-v0.1"}
    assert set(ATTENTION_DEGREES) == set(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_case_file_gives_its_shape(name: str) -> None:
    assert figures(load(name)) == SHAPES[name]


@pytest.mark.parametrize("name", SHAPES)
def test_case_file_divides_into_the_right_degrees(name: str) -> None:
    shape = resolve_model(load(name))
    assert valid_tp_degrees(shape, Block.ATTENTION) == ATTENTION_DEGREES[name]
    assert set(POWERS) <= set(valid_tp_degrees(shape, Block.MLP))


def test_architectures_alone_are_enough() -> None:
    for name, expected in SHAPES.items():
        entries = load(name)
        del entries["model_type"]
        assert figures(entries) == expected


def test_first_configs_of_gemma_mean_the_approximation() -> None:
    assert figures({**load("gemma-7b"), "hidden_act": "gelu"}) == SHAPES["gemma-7b"]


def test_derived_class_is_known_by_its_architecture() -> None:
    entries = {**load("gemma-7b"), "model_type": "house_model"}
    assert figures(entries) == SHAPES["gemma-7b"]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (LLAMA, (4096, 11008, 32, 32, 128, True, "silu", False)),
        (PYTHIA, (256, 1024, 8, 8, 32, False, "gelu", True)),
        (
            {**PYTHIA, "use_parallel_residual": False},
            (256, 1024, 8, 8, 32, False, "gelu", False),
        ),
        (FALCON_40B, (8192, 32768, 128, 8, 64, False, "gelu", True)),
        (FALCON_RW, (2048, 8192, 32, 32, 64, False, "gelu", False)),
        (FALCON_40B_OLD, (8192, 32768, 128, 8, 64, False, "gelu", True)),
        (FALCON_11B, (4096, 16384, 32, 8, 128, False, "gelu", True)),
        (GPT_J, (4096, 16384, 16, 16, 256, False, "gelu_tanh", True)),
        (STARCODER, (6144, 24576, 48, 1, 128, False, "gelu_tanh", False)),
        (STARCODER_2, (3072, 12288, 24, 2, 128, False, "gelu_tanh", False)),
        (BLOOM, (14336, 57344, 112, 112, 128, False, "gelu_tanh", False)),
        (MPT, (4096, 16384, 32, 32, 128, False, "gelu", False)),
        (MPT_MULTI_QUERY, (4096, 16384, 32, 1, 128, False, "gelu", False)),
        (MPT_GROUPED, (4096, 16384, 32, 8, 128, False, "gelu", False)),
        (GEMMA_2, (3584, 14336, 16, 8, 256, True, "gelu_tanh", False)),
        (COMMAND_R, (8192, 22528, 64, 64, 128, True, "silu", True)),
        (STABLE_LM, (5120, 13824, 40, 8, 128, True, "silu", True)),
        (QWEN_1, (4096, 11008, 32, 32, 128, True, "silu", False)),
        (CHAT_GLM, (4096, 13696, 32, 2, 128, True, "silu", False)),
        (
            {**CHAT_GLM, "multi_query_attention": False},
            (4096, 13696, 32, 32, 128, True, "silu", False),
        ),
        (GPT_NEO, (2560, 10240, 20, 20, 128, False, "gelu_tanh", False)),
        (NEMOTRON, (18432, 73728, 96, 8, 192, False, "relu_squared", False)),
        (XGLM, (1024, 4096, 16, 16, 64, False, "gelu", False)),
        (SANTA_CODER, (2048, 8192, 16, 1, 128, False, "gelu_tanh", False)),
        (CODE_SHELL, (4096, 16384, 32, 8, 128, False, "gelu_tanh", False)),
        (PHI_AS_IT_CAME, (2048, 8192, 32, 32, 64, False, "gelu_tanh", True)),
        (TELE_CHAT, (4096, 12288, 32, 32, 128, True, "silu", False)),
        (GRANITE_4_MICRO, (2560, 8192, 40, 8, 64, True, "silu", False)),
    ],
)
def test_family_fills_in_what_its_config_leaves_unsaid(
    entries: Mapping[str, object], expected: tuple[object, ...]
) -> None:
    assert figures(entries) == expected


def test_unknown_family_is_gated_where_its_activation_says_so() -> None:
    unknown = {**LLAMA, "model_type": "house_model"}
    assert resolve_model(unknown).gated
    assert not resolve_model({**unknown, "hidden_act": "gelu"}).gated
    assert resolve_model({**unknown, "hidden_act": "gelu", "use_glu": True}).gated
    assert not resolve_model({**unknown, "gated_mlp": False}).gated


def test_known_gated_family_stays_gated_without_its_activation() -> None:
    entries = {key: value for key, value in LLAMA.items() if key != "hidden_act"}
    assert figures(entries) == figures(LLAMA)


def test_text_config_is_the_language_model() -> None:
    entries = {
        "model_type": "mistral3",
        "architectures": ["Mistral3ForConditionalGeneration"],
        "text_config": {
            "model_type": "mistral",
            "hidden_size": 5120,
            "intermediate_size": 32768,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "hidden_act": "silu",
        },
        "vision_config": {"hidden_size": 1024, "num_attention_heads": 16},
    }
    assert figures(entries) == (5120, 32768, 32, 8, 128, True, "silu", False)


def test_nested_config_leaves_out_what_its_class_takes_for_granted() -> None:
    """As published: Gemma 3 4B gives no heads, LLaVA 1.5 no dimension at all."""
    gemma = {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text"}
    assert figures({"model_type": "gemma3", "text_config": gemma}) == (
        *(2560, 10240, 8, 4, 256),
        *(True, "gelu_tanh", False),
    )
    vicuna = {"_name_or_path": "lmsys/vicuna-7b-v1.5", "model_type": "llama"}
    llava = {"model_type": "llava", "text_config": vicuna}
    assert figures(llava) == (4096, 11008, 32, 32, 128, True, "silu", False)
    assert resolve_model(llava).name == "lmsys/vicuna-7b-v1.5"


def test_config_inside_a_thinker_is_found() -> None:
    thinker = {"model_type": "qwen2_5_omni_thinker", "text_config": {**LLAMA}}
    entries = {"model_type": "qwen2_5_omni", "thinker_config": thinker}
    assert figures(entries) == figures(LLAMA)


def test_shape_is_called_by_its_path_else_by_its_type() -> None:
    assert resolve_model({**LLAMA, "_name_or_path": "house/model"}).name == "house/model"
    assert resolve_model(LLAMA).name == "llama"
    assert resolve_model({**LLAMA, "_name_or_path": ""}).name == "llama"
    assert resolve_model({**LLAMA, "_name_or_path": "a\x00b"}).name == "llama"
    assert resolve_model({**LLAMA, "model_type": "\n"}).name == ""
    assert len(resolve_model({**LLAMA, "_name_or_path": "x" * 999}).name) == 200


@given(name=st.sampled_from(sorted(SHAPES)), data=st.data())
def test_no_damaged_config_does_worse_than_a_value_error(name: str, data: st.DataObject) -> None:
    entries = load(name)
    field = data.draw(st.sampled_from([*sorted(entries), "text_config", "attn_config", "n_inner"]))
    entries[field] = data.draw(JSON)
    with contextlib.suppress(ValueError):
        shape = resolve_model(entries)
        assert shape.num_attention_heads % shape.num_key_value_heads == 0
