from collections.abc import Mapping

import pytest

from tests.unit.contract.configs import FALCON_40B, LLAMA, MPT, PYTHIA, load
from workers.contract.catalogue import resolve_model


def refusal(entries: Mapping[str, object]) -> str:
    with pytest.raises(ValueError, match="is not measured") as caught:
        resolve_model(dict(entries))
    return str(caught.value)


def test_mixtral_is_refused_as_a_mixture_of_experts() -> None:
    message = refusal(load("mixtral-8x7b-v0.1"))
    assert "mixture of experts (num_local_experts=8)" in message


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        (
            {"model_type": "qwen2_moe", "num_experts": 60, "num_experts_per_tok": 4},
            "num_experts=60",
        ),
        ({"model_type": "qwen3_moe"}, "model_type=qwen3moe"),
        ({"model_type": "grok-1", "num_experts": 8}, "num_experts=8"),
        ({"model_type": "dbrx", "ffn_config": {"moe_num_experts": 16}}, "moe_num_experts=16"),
        ({"model_type": "gpt_oss", "num_local_experts": 128}, "num_local_experts=128"),
        ({"model_type": "new", "moe_num_experts": [64, 64]}, r"moe_num_experts=[64, 64]"),
        ({"model_type": "new", "moe_intermediate_size": 1408}, "moe_intermediate_size=1408"),
        ({"architectures": ["MixtralForCausalLM"], "model_type": None}, "mixtral"),
    ],
)
def test_experts_are_refused_by_name(changes: Mapping[str, object], shown: str) -> None:
    message = refusal({**LLAMA, **changes})
    assert "mixture of experts" in message
    assert shown in message


@pytest.mark.parametrize(
    "changes",
    [
        {"num_experts": 1},
        {"num_experts": None, "num_experts_per_tok": None},
        {"num_local_experts": 0, "moe_intermediate_size": 0},
        {"is_moe": False, "num_experts": 64},
    ],
)
def test_dense_model_that_mentions_experts_is_taken(changes: Mapping[str, object]) -> None:
    assert resolve_model({**LLAMA, **changes}) == resolve_model(LLAMA)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "minicpm3", "kv_lora_rank": 256, "q_lora_rank": 768},
        {"model_type": "minicpm3"},
        {"architectures": ["DeepseekV3ForCausalLM"]},
        {"q_lora_rank": 1536},
    ],
)
def test_latent_attention_is_refused_by_name(changes: Mapping[str, object]) -> None:
    assert "latent attention" in refusal({**LLAMA, **changes})


def test_deepseek_is_refused_for_both_of_its_features() -> None:
    deepseek = {
        "model_type": "deepseek_v3",
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "num_attention_heads": 128,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
    }
    message = refusal(deepseek)
    assert "mixture of experts (n_routed_experts=256)" in message
    assert "latent attention (kv_lora_rank=512)" in message


def test_experts_of_a_nested_language_model_are_refused() -> None:
    text = {**LLAMA, "model_type": "llama4_text", "num_local_experts": 16}
    assert "num_local_experts=16" in refusal({"model_type": "house", "text_config": text})


@pytest.mark.parametrize(
    "entries",
    [
        {"model_type": "t5", "d_model": 512, "d_ff": 2048, "num_heads": 8},
        {"model_type": "bart", "is_encoder_decoder": True, "d_model": 1024},
        {"architectures": ["WhisperForConditionalGeneration"], "d_model": 1280},
        {**LLAMA, "encoder_layers": 12},
    ],
)
def test_encoder_with_a_decoder_is_refused_by_name(entries: Mapping[str, object]) -> None:
    assert "an encoder with a decoder" in refusal(entries)


@pytest.mark.parametrize(
    "entries",
    [
        {**LLAMA, "model_type": "bert"},
        {**LLAMA, "architectures": ["HouseForMaskedLM"]},
        {**LLAMA, "model_type": "xlm-roberta"},
        {**LLAMA, "model_type": "longformer"},
        {**LLAMA, "model_type": "new", "architectures": ["NewModel"], "vocab_size": 30528},
        {**LLAMA, "model_type": "vit", "image_size": 224, "patch_size": 16},
        {**LLAMA, "model_type": "hubert", "conv_dim": [512, 512], "vocab_size": 32},
        {"model_type": "clip", "text_config": {**LLAMA, "model_type": "clip_text_model"}},
    ],
)
def test_encoder_is_refused_because_its_attention_is_not_causal(
    entries: Mapping[str, object],
) -> None:
    assert "not causal" in refusal(entries)


def test_language_model_that_also_sees_is_taken() -> None:
    flat = {**LLAMA, "model_type": "minicpmv", "vocab_size": 151666, "patch_size": 14}
    nested = {"model_type": "fuyu", "patch_size": 30, "text_config": LLAMA}
    assert resolve_model(flat).nameless == resolve_model(nested).nameless


def test_encoder_class_used_as_a_decoder_is_taken() -> None:
    bert = {**LLAMA, "model_type": "bert", "hidden_act": "gelu", "is_decoder": True}
    assert not resolve_model(bert).gated


@pytest.mark.parametrize(
    "entries",
    [
        {"model_type": "mamba", "hidden_size": 768, "state_size": 16},
        {"model_type": "falcon_mamba", "hidden_size": 4096},
        {"model_type": "rwkv", "hidden_size": 4096},
        {"architectures": ["Zamba2ForCausalLM"], "hidden_size": 2560},
        {**LLAMA, "model_type": "bamba", "mamba_d_state": 256},
        {**LLAMA, "model_type": "qwen3_5", "linear_conv_kernel_dim": 4},
    ],
)
def test_state_space_is_refused_by_name(entries: Mapping[str, object]) -> None:
    assert "state space or linear attention" in refusal(entries)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "gemma4_text", "head_dim": 256, "global_head_dim": 512},
        {"model_type": "nemotron-nas", "block_configs": [{"ffn": {"no_op": True}}]},
        {"model_type": "deci", "num_key_value_heads_per_layer": [4, 4, 2, 1]},
        {"model_type": "openelm", "num_query_heads": [12, 12, 16], "ffn_multipliers": [0.5, 4.0]},
    ],
)
def test_layers_of_several_shapes_are_refused_by_name(changes: Mapping[str, object]) -> None:
    assert "layers of several shapes" in refusal({**LLAMA, **changes})


@pytest.mark.parametrize("changes", [{"attn_output_gate": True}, {"model_type": "dory"}])
def test_gate_on_attention_is_refused_by_name(changes: Mapping[str, object]) -> None:
    assert "a gate on attention" in refusal({**LLAMA, **changes})


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"model_type": "llama"}, r"hidden_size .* is missing"),
        ({**LLAMA, "intermediate_size": None}, r"intermediate_size .* is missing"),
        ({**LLAMA, "num_attention_heads": None}, r"num_attention_heads .* is missing"),
        ({**LLAMA, "hidden_size": -1}, r"hidden_size=-1 .* from 1 to"),
        ({**LLAMA, "hidden_size": 1 << 40}, r"hidden_size=1099511627776 .* from 1 to"),
        ({**LLAMA, "hidden_size": "4096"}, r"hidden_size='4096' .* whole number"),
        ({**LLAMA, "hidden_size": 4096.0}, r"hidden_size=4096.0 .* whole number"),
        ({**LLAMA, "hidden_size": float("nan")}, r"hidden_size=nan .* whole number"),
        ({**LLAMA, "num_attention_heads": True}, r"num_attention_heads=True .* whole number"),
        ({**LLAMA, "num_key_value_heads": 0}, r"num_key_value_heads=0 .* from 1 to"),
        ({**LLAMA, "num_key_value_heads": 5}, r"not a multiple of num_key_value_heads=5"),
        ({**LLAMA, "num_attention_heads": 33}, r"num_attention_heads=33 and .* no head_dim"),
        ({**LLAMA, "intermediate_size": [1, 2]}, r"intermediate_size=\[1, 2\] .* layer to layer"),
        ({**LLAMA, "hidden_act": "xielu"}, r"hidden_act='xielu' .* known are .*silu"),
        ({**LLAMA, "hidden_act": 3}, r"hidden_act=3 .* must be a string"),
        ({**LLAMA, "model_type": "plamo", "hidden_act": None}, r"hidden_act is missing .* gated;"),
        ({**LLAMA, "n_shared_head": 8}, r"n_shared_head=8 .* fewer key-value heads; give num_key_"),
        ({**MPT, "ffn_config": {"ffn_type": "mptglu"}}, r"ffn_type='mptglu' .* mptmlp is"),
        ({**LLAMA, "n_head": 16}, r"num_attention_heads=32 and n_head=16 .* contradict"),
        ({**LLAMA, "text_config": "x"}, r"text_config='x' .* must be an object"),
        ({**LLAMA, "model_type": 5}, r"model_type=5 .* must be a string"),
        ({**LLAMA, "architectures": "Llama"}, r"architectures='Llama' .* list of strings"),
        ({**FALCON_40B, "multi_query": "yes", "new_decoder_architecture": None}, r"multi_query='y"),
        ({**PYTHIA, "use_parallel_residual": 1}, r"use_parallel_residual=1 .* must be a boolean"),
    ],
)
def test_missing_or_absurd_entry_is_refused_by_name(
    entries: Mapping[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        resolve_model(dict(entries))
