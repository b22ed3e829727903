"""Models whose blocks are other than the ones measured here, refused by the feature's name."""

import re
import reprlib
from collections.abc import Iterator
from types import MappingProxyType

from workers.contract.hf_families import bare_name
from workers.contract.hf_fields import VOCAB_SIZE, HfConfig

LATENT_RANKS = ("kv_lora_rank", "q_lora_rank", "o_lora_rank")
LATENT_TYPES = frozenset({"deepseekv2", "deepseekv3", "deepseekv32", "minicpm3", "youtu"})

EXPERT_COUNT = re.compile(r"(?:moe_)?(?:num|n)_(?:local_|routed_)?experts")
EXPERT_SWITCHES = ("enable_moe_block", "is_moe", "use_moe")
EXPERT_PARTS = ("ffn_config", "moe_config")
EXPERT_WIDTHS = ("moe_intermediate_size", "moe_ffn_hidden_size")
EXPERT_TYPES = frozenset(
    {"mixtral", "dbrx", "arctic", "jamba", "grok1", "deepseekv2", "deepseekv3", "gptoss", "llama4"}
)

STATE_FIELDS = (
    "state_size",
    "ssm_state_size",
    "ssm_cfg",
    "mamba_d_state",
    "mamba_d_conv",
    "linear_conv_kernel_dim",
    "lru_width",
    "conv_L_cache",
)
PLAIN_LAYERS = frozenset({"attention", "full_attention", "sliding_attention"})
"""Of `layer_types`: where there are no others, the entries of a hybrid's class mean nothing."""
STATE_TYPES = (
    *("mamba", "rwkv", "xlstm", "recurrentgemma", "griffin", "hyena", "stripedhyena", "retnet"),
    *("lfm2", "bamba", "falconh1", "jamba", "kimilinear", "nemotronh", "plamo2", "qwen3next"),
    *("zamba",),
)

LAYER_FIELDS = ("global_head_dim", "block_configs", "per_layer_config", "ffn_multipliers")
PER_LAYER = re.compile(r"num_query_heads|.*_per_layer")
"""Names under which a list holds one number for each layer (OpenELM, DeciLM)."""

ATTENTION_GATES = ("attn_output_gate", "gated_attn", "use_attention_gate")
ATTENTION_GATE_TYPES = frozenset({"dory", "museglimmer"})

PAIR_FIELDS = ("encoder_layers", "decoder_layers", "num_decoder_layers", "encoder", "decoder")
PAIR_TYPES = frozenset(
    {
        "bart",
        "bigbirdpegasus",
        "blenderbot",
        "blenderbotsmall",
        "encoderdecoder",
        "led",
        "longt5",
        "m2m100",
        "marian",
        "mbart",
        "mt5",
        "mvp",
        "nllbmoe",
        "pegasus",
        "plbart",
        "prophetnet",
        "speechencoderdecoder",
        "switchtransformers",
        "t5",
        "t5gemma",
        "umt5",
        "visionencoderdecoder",
        "whisper",
    }
)

ENCODER_TYPES = frozenset(
    {
        *("bigbird", "blip", "bridgetower", "bros", "canine", "data2vectext", "dpr", "electra"),
        *("ernie", "esm", "esmc", "flaubert", "fnet", "funnel", "gte", "jinaembeddingsv3"),
        *("layoutlm", "layoutlmv2", "layoutlmv3", "layoutxlm", "lilt", "longformer", "luke"),
        *("lxmert", "markuplm", "mpnet", "mra", "new", "nystromformer", "perceiver", "roformer"),
        *("splinter", "tapas", "tvp", "vilt", "xmod", "yoso"),
        # Text beside pictures or sound, into one space
        *("aimv2", "align", "altclip", "chineseclip", "clap", "clip", "clipseg", "flava"),
        *("groupvit", "metaclip2", "owlvit", "siglip", "siglip2", "tipsv2"),
    }
)
"""Of transformers 5.24, and `new` (the gte models beside their checkpoints)."""
SOUND_FIELDS = ("conv_dim", "feat_extract_norm", "num_mel_bins")
PICTURE_FIELDS = ("image_size", "patch_size", "num_channels")

ADVICE = MappingProxyType(
    {
        "mixture of experts": "give the explicit shape of one dense block instead",
        "latent attention": "give the explicit shape of the MLP and measure blocks=mlp instead",
        "state space or linear attention": "give the explicit shape of the attention or MLP blocks",
        "layers of several shapes": "give the explicit shape of the layer you mean",
        "a gate on attention": "give the explicit shape of the MLP and measure blocks=mlp instead",
        "an encoder with a decoder": "give the explicit shape of one stack instead",
        "an encoder": "its attention is not causal; give the explicit shape and measure the MLP",
    }
)


def refuse_what_is_not_measured(config: HfConfig, names: tuple[str, ...]) -> None:
    """Raise ValueError naming each feature that is not measured, with the entry that shows it."""
    bare_names = tuple(bare_name(name) for name in names)
    found = {
        "mixture of experts": next(_experts(config, bare_names), None),
        "latent attention": next(_latent(config, bare_names), None),
        "state space or linear attention": next(_states(config, bare_names), None),
        "layers of several shapes": next(_several(config), None),
        "a gate on attention": next(_gates(config, bare_names), None),
        "an encoder with a decoder": next(_pairs(config, bare_names), None),
        "an encoder": next(_encoders(config, names), None),
    }
    shown = {feature: entry for feature, entry in found.items() if entry is not None}
    if shown:
        what = " and ".join(f"{feature} ({entry})" for feature, entry in shown.items())
        advice = ADVICE[next(iter(shown))]
        raise ValueError(f"this config.json describes {what}, which is not measured; {advice}")


def _experts(config: HfConfig, names: tuple[str, ...]) -> Iterator[str]:
    if any(config.entries.get(switch) is False for switch in EXPERT_SWITCHES):
        return
    parts = [config.entries]
    parts += [part for name in EXPERT_PARTS if isinstance(part := config.entries.get(name), dict)]
    counts = {k: v for part in parts for k, v in part.items() if "expert" in k and v is not None}
    for name in sorted(counts, key=lambda name: EXPERT_COUNT.fullmatch(name) is None):
        if _is_several(counts[name]):
            yield f"{name}={reprlib.repr(counts[name])}"
    for name in EXPERT_WIDTHS:
        if config.entries.get(name) and not counts:
            yield f"{name}={reprlib.repr(config.entries[name])}"
    for name in names:
        if not counts and ("moe" in name or name in EXPERT_TYPES):
            yield f"model_type={name}"


def _is_several(value: object) -> bool:
    """Whether a count of experts means more than one; lists hold a count for each layer."""
    if isinstance(value, list):
        return any(_is_several(item) for item in value)
    return isinstance(value, int | float) and value > 1


def _latent(config: HfConfig, names: tuple[str, ...]) -> Iterator[str]:
    for name in LATENT_RANKS:
        if config.entries.get(name):
            yield f"{name}={reprlib.repr(config.entries[name])}"
    yield from (f"model_type={name}" for name in names if name in LATENT_TYPES)


def _states(config: HfConfig, names: tuple[str, ...]) -> Iterator[str]:
    layers = config.entries.get("layer_types")
    if isinstance(layers, list) and layers and set(map(str, layers)) <= PLAIN_LAYERS:
        return
    for name in STATE_FIELDS:
        if config.entries.get(name):
            yield f"{name}={reprlib.repr(config.entries[name])}"
    for name in names:
        if any(name.startswith(kind) or name.endswith("mamba") for kind in STATE_TYPES):
            yield f"model_type={name}"


def _several(config: HfConfig) -> Iterator[str]:
    for name in LAYER_FIELDS:
        if config.entries.get(name):
            yield f"{name}={reprlib.repr(config.entries[name])}"
    for name, value in config.entries.items():
        if PER_LAYER.fullmatch(name) and isinstance(value, list) and len(value) > 1:
            yield f"{name}={reprlib.repr(value)}"


def _gates(config: HfConfig, names: tuple[str, ...]) -> Iterator[str]:
    yield from (f"{name}=true" for name in ATTENTION_GATES if config.entries.get(name) is True)
    yield from (f"model_type={name}" for name in names if name in ATTENTION_GATE_TYPES)


def _pairs(config: HfConfig, names: tuple[str, ...]) -> Iterator[str]:
    if config.entries.get("is_encoder_decoder") is True:
        yield "is_encoder_decoder=true"
    yield from (f"model_type={name}" for name in names if name in PAIR_TYPES)
    for name in PAIR_FIELDS:
        if config.entries.get(name):
            yield f"{name}={reprlib.repr(config.entries[name])}"


def _encoders(config: HfConfig, names: tuple[str, ...]) -> Iterator[str]:
    if config.flag("is_decoder", default=False):
        return
    yield from (f"architecture {name}" for name in names if name.endswith("ForMaskedLM"))
    for bare in map(bare_name, names):
        is_bert = "bert" in bare and "decoder" not in bare
        if is_bert or bare in ENCODER_TYPES:
            yield f"model_type={bare}"
    is_language = any(config.entries.get(name) is not None for name in VOCAB_SIZE)
    sensors = SOUND_FIELDS if is_language else (*SOUND_FIELDS, *PICTURE_FIELDS)
    if not config.is_nested and not any(key.endswith("_config") for key in config.entries):
        yield from (
            f"{name}={reprlib.repr(config.entries[name])}"
            for name in sensors
            if config.entries.get(name)
        )
