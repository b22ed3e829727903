"""Entries of published config.json files that decide the shape, and JSON that decides nothing."""

import json
from pathlib import Path

from hypothesis import strategies as st

CASES = Path(__file__).parents[2] / "cases" / "model-configs"
CLASSES = Path(__file__).parents[2] / "cases" / "transformers-5.24-classes.json"


def load(name: str) -> dict[str, object]:
    entries = json.loads((CASES / f"{name}.json").read_text())
    assert isinstance(entries, dict)
    return entries


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)

LLAMA: dict[str, object] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "hidden_act": "silu",
}
PYTHIA = {
    "model_type": "gpt_neox",
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_attention_heads": 8,
    "hidden_act": "gelu",
}
FALCON_40B = {
    "model_type": "falcon",
    "hidden_size": 8192,
    "num_attention_heads": 128,
    "num_kv_heads": 8,
    "new_decoder_architecture": True,
    "multi_query": True,
}
FALCON_RW = {
    "model_type": "falcon",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "multi_query": False,
    "parallel_attn": False,
}
FALCON_40B_OLD = {
    "model_type": "RefinedWeb",
    "architectures": ["RWForCausalLM"],
    "hidden_size": 8192,
    "n_head": 128,
    "n_head_kv": 8,
    "parallel_attn": True,
}
FALCON_11B = {
    "model_type": "falcon",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_kv_heads": 8,
    "new_decoder_architecture": True,
    "ffn_hidden_size": 16384,
}
GPT_J = {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_inner": None}
STARCODER = {
    "model_type": "gpt_bigcode",
    "n_embd": 6144,
    "n_head": 48,
    "n_inner": 24576,
    "multi_query": True,
    "activation_function": "gelu_pytorch_tanh",
}
STARCODER_2 = {
    "model_type": "starcoder2",
    "hidden_size": 3072,
    "intermediate_size": 12288,
    "num_attention_heads": 24,
    "num_key_value_heads": 2,
    "hidden_act": "gelu_pytorch_tanh",
}
BLOOM = {"model_type": "bloom", "n_embed": 14336, "n_head": 112, "num_attention_heads": 112}
MPT = {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "expansion_ratio": 4}
MPT_MULTI_QUERY = {**MPT, "attn_config": {"attn_type": "multiquery_attention"}}
MPT_GROUPED = {**MPT, "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 8}}
GEMMA_2 = {
    "model_type": "gemma2",
    "hidden_size": 3584,
    "intermediate_size": 14336,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh",
}
COMMAND_R = {
    "model_type": "cohere",
    "hidden_size": 8192,
    "intermediate_size": 22528,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "hidden_act": "silu",
}
STABLE_LM = {
    "model_type": "stablelm",
    "hidden_size": 5120,
    "intermediate_size": 13824,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "hidden_act": "silu",
    "use_parallel_residual": True,
}
QWEN_1 = {
    "model_type": "qwen",
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_attention_heads": 32,
    "kv_channels": 128,
}
CHAT_GLM = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "ffn_hidden_size": 13696,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
}
GPT_NEO = {
    "model_type": "gpt_neo",
    "hidden_size": 2560,
    "num_heads": 20,
    "intermediate_size": None,
    "activation_function": "gelu_new",
}
XGLM = {
    "model_type": "xglm",
    "d_model": 1024,
    "attention_heads": 16,
    "ffn_dim": 4096,
    "activation_function": "gelu",
}
NEMOTRON = {
    "model_type": "nemotron",
    "hidden_size": 18432,
    "intermediate_size": 73728,
    "num_attention_heads": 96,
    "num_key_value_heads": 8,
    "hidden_act": "relu2",
}
SANTA_CODER = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadCustomModel"],
    "n_embd": 2048,
    "n_inner": 8192,
    "n_head": 16,
    "activation_function": "gelu_fast",
    "attention_head_type": "multiquery",
}
CODE_SHELL = {
    "model_type": "codeshell",
    "n_embd": 4096,
    "n_inner": 16384,
    "n_head": 32,
    "num_query_groups": 8,
    "activation_function": "gelu_pytorch_tanh",
}
PHI_AS_IT_CAME = {
    "model_type": "mixformer-sequential",
    "n_embd": 2048,
    "n_inner": None,
    "n_head": 32,
    "activation_function": "gelu_new",
}
TELE_CHAT = {
    "model_type": "telechat",
    "hidden_size": 4096,
    "ffn_hidden_size": 12288,
    "n_head": 32,
}
GRANITE_4_MICRO = {
    "model_type": "granitemoehybrid",
    "hidden_size": 2560,
    "intermediate_size": 8192,
    "num_local_experts": 0,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "hidden_act": "silu",
    "mamba_d_state": 256,
    "layer_types": ["attention", "attention"],
}
