"""What the model families of Hugging Face leave unsaid in their config.json.

From the configuration and modeling files of transformers 5.24 and, for families that live outside
it (qwen 1, chatglm, baichuan, internlm, ...), from the code beside their checkpoints.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How one family's blocks are built where its config.json does not say."""

    gated: bool | None = None
    """Three matrices in the MLP; None where the activation has to tell."""
    activation: str | None = None
    """Taken where the config names none."""
    parallel: bool = False
    """Attention and MLP side by side, where the config has no flag for it."""
    is_ffn_four_hidden: bool = False
    """The MLP is four times as wide as the model where its width is not given."""
    is_ffn_both_halves: bool = False
    """The stated width counts gate and up together; each is half as wide."""
    multi_query: bool = False
    """One key-value head where the config has no flag for it."""
    head_dim: int | None = None
    """Of the configuration class, for heads that do not add up to hidden_size."""
    omitted: Mapping[str, int] = field(default_factory=dict)
    """Dimensions a *nested* config leaves out because they equal the class's defaults."""


def _sizes(hidden: int, ffn: int, heads: int, kv_heads: int | None = None) -> dict[str, int]:
    sizes = {"hidden_size": hidden, "intermediate_size": ffn, "num_attention_heads": heads}
    return sizes if kv_heads is None else {**sizes, "num_key_value_heads": kv_heads}


def _gated(omitted: dict[str, int] | None = None, *, head_dim: int | None = None) -> Family:
    return Family(gated=True, activation="silu", head_dim=head_dim, omitted=omitted or {})


def _gemma(omitted: dict[str, int]) -> Family:
    """Gated although its activation is a GELU."""
    return Family(gated=True, activation="gelu_pytorch_tanh", head_dim=256, omitted=omitted)


def _gpt(*, parallel: bool = False, multi_query: bool = False) -> Family:
    return Family(
        gated=False,
        activation="gelu_new",
        parallel=parallel,
        multi_query=multi_query,
        is_ffn_four_hidden=True,
    )


UNKNOWN = Family()

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        # Gated by SiLU
        "llama": _gated(_sizes(4096, 11008, 32)),
        "mistral": _gated(_sizes(4096, 14336, 32, 8)),
        "ministral": _gated(_sizes(4096, 14336, 32, 8)),
        "ministral3": _gated(_sizes(4096, 14336, 32, 8), head_dim=128),
        "mllama": _gated(_sizes(4096, 14336, 32, 8)),
        "qwen": Family(gated=True, activation="silu", is_ffn_both_halves=True),
        "moshi": Family(gated=True, activation="silu", is_ffn_both_halves=True),
        "qwen2": _gated(_sizes(4096, 22016, 32, 32)),
        "qwen2vl": _gated(_sizes(8192, 29568, 64, 8)),
        "qwen25vl": _gated(_sizes(8192, 29568, 64, 8)),
        "qwen25omni": _gated(_sizes(3584, 18944, 28, 4)),
        "qwen3": _gated(_sizes(4096, 22016, 32, 32), head_dim=128),
        "qwen3vl": _gated(_sizes(4096, 22016, 32, 32), head_dim=128),
        "phi3": _gated(_sizes(3072, 8192, 32)),
        "phi4multimodal": _gated(_sizes(3072, 8192, 32, 8)),
        "olmo": _gated(_sizes(4096, 11008, 32)),
        "olmo2": _gated(_sizes(4096, 11008, 32)),
        "olmo3": _gated(_sizes(4096, 11008, 32)),
        "granite": _gated(_sizes(4096, 11008, 32)),
        "smollm3": _gated(_sizes(2048, 11008, 16, 4)),
        "helium": _gated(_sizes(2560, 7040, 20, 20), head_dim=128),
        "glm": _gated(_sizes(4096, 13696, 32, 2), head_dim=128),
        "glm4": _gated(_sizes(4096, 13696, 32, 2), head_dim=128),
        "glm4v": _gated(_sizes(4096, 13696, 32, 2)),
        "chatglm": _gated(),
        "seedoss": _gated(_sizes(4096, 27648, 80, 8), head_dim=128),
        "ernie45": _gated(_sizes(1024, 3072, 16, 2), head_dim=128),
        "exaone": _gated(_sizes(4096, 14336, 32, 8)),
        "exaone4": _gated(_sizes(4096, 16384, 32, 32)),
        "hunyuanv1dense": _gated(_sizes(4096, 11008, 32)),
        "cwm": _gated(_sizes(6144, 21504, 48, 8), head_dim=128),
        "chameleon": _gated(_sizes(4096, 11008, 32, 32)),
        "emu3": _gated(_sizes(4096, 14336, 32, 8)),
        "stablelm": _gated(_sizes(2560, 6912, 32, 32)),
        "cohere": Family(
            gated=True, activation="silu", parallel=True, omitted=_sizes(8192, 22528, 64)
        ),
        "cohere2": Family(
            gated=True, activation="silu", parallel=True, omitted=_sizes(8192, 22528, 64)
        ),
        "coherecompass": Family(
            gated=True, activation="silu", parallel=True, omitted=_sizes(8192, 22528, 64, 64)
        ),
        "baichuan": _gated(),
        "internlm": _gated(),
        "internlm2": _gated(),
        "internlm3": _gated(_sizes(4096, 10240, 32, 2), head_dim=128),
        "minicpm": _gated(),
        "telechat": _gated(),
        "yi": _gated(),
        # Gated by another function
        "bitnet": Family(gated=True, activation="relu2", omitted=_sizes(2560, 6912, 20, 5)),
        "gemma": _gemma(_sizes(3072, 24576, 16, 16)),
        "gemma2": _gemma(_sizes(2304, 9216, 8, 4)),
        "gemma3": _gemma(_sizes(2304, 9216, 8, 4)),
        "gemma3n": _gemma(_sizes(2048, 16384, 8, 2)),
        "vaultgemma": _gemma(_sizes(2304, 9216, 8, 4)),
        "modernbertdecoder": Family(gated=True, activation="gelu"),
        # Plain
        "gpt2": _gpt(),
        "openaigpt": _gpt(),
        "gptneo": _gpt(),
        "gptj": _gpt(parallel=True),
        "codegen": _gpt(parallel=True),
        "gptbigcode": _gpt(multi_query=True),
        "gptneox": Family(
            gated=False, activation="gelu", parallel=True, omitted=_sizes(6144, 24576, 64)
        ),
        "gptneoxjapanese": Family(gated=False, activation="gelu", is_ffn_four_hidden=True),
        "bloom": Family(gated=False, activation="gelu_tanh", is_ffn_four_hidden=True),
        "mpt": Family(gated=False, activation="gelu", is_ffn_four_hidden=True),
        "falcon": Family(
            gated=False,
            activation="gelu",
            parallel=True,
            multi_query=True,
            is_ffn_four_hidden=True,
            omitted={"hidden_size": 4544, "num_attention_heads": 71},
        ),
        "opt": Family(gated=False, activation="relu", omitted=_sizes(768, 3072, 12)),
        "xglm": Family(gated=False, activation="gelu"),
        "biogpt": Family(gated=False, activation="gelu"),
        "phi": Family(
            gated=False,
            activation="gelu_new",
            parallel=True,
            is_ffn_four_hidden=True,
            omitted=_sizes(2048, 8192, 32),
        ),
        "starcoder2": Family(
            gated=False, activation="gelu_pytorch_tanh", omitted=_sizes(3072, 12288, 24, 2)
        ),
        "persimmon": Family(gated=False, activation="relu2", omitted=_sizes(4096, 16384, 64)),
        "arcee": Family(gated=False, activation="relu2", omitted=_sizes(2560, 18432, 32)),
        "jais2": Family(gated=False, activation="relu2", omitted=_sizes(3328, 26624, 26)),
        "nanochat": Family(gated=False, activation="relu2", omitted=_sizes(768, 8192, 6)),
        "nemotron": Family(gated=False, activation="relu2", omitted=_sizes(6144, 24576, 48)),
    }
)

RENAMED: Mapping[str, str] = MappingProxyType(
    {
        # Falcon before it came to transformers
        "refinedweb": "falcon",
        "refinedwebmodel": "falcon",
        "rw": "falcon",
        # Phi as it came
        "phimsft": "phi",
        "mixformersequential": "phi",
    }
)


def family_of(names: Iterable[str]) -> tuple[str, Family]:
    """Return the first family that one of these model types or architectures belongs to."""
    for name in names:
        bare = bare_name(name)
        known = RENAMED.get(bare, bare)
        if known in FAMILIES:
            return known, FAMILIES[known]
    return "", UNKNOWN


def bare_name(name: str) -> str:
    """`gemma3_text`, `Gemma3ForCausalLM` and `gemma3` alike become gemma3."""
    head = re.split(r"(?<=.)(?:For[A-Z]|LMHead|Model$|_text(?:_model)?$|_model$)", name)[0]
    return re.sub(r"[^a-z0-9]", "", head.lower())
