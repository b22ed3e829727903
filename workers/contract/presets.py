"""Shapes that go by a name, each with the published config.json its figures come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from workers.contract.axes import Activation
from workers.contract.shapes import ModelShape


@dataclass(frozen=True, slots=True)
class Preset:
    """A shape and where it is published."""

    shape: ModelShape
    source: str
    """Hugging Face repository whose config.json states the figures."""


def _llama(
    hidden: int, ffn: int, heads: int, kv_heads: int, *, name: str, source: str
) -> tuple[str, Preset]:
    shape = ModelShape(
        name=name,
        hidden_size=hidden,
        intermediate_size=ffn,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=hidden // heads,
        gated=True,
        activation=Activation.SILU,
    )
    return name, Preset(shape, source)


def _gpt2(hidden: int, heads: int, *, name: str, source: str) -> tuple[str, Preset]:
    shape = ModelShape(
        name=name,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=hidden // heads,
        activation=Activation.GELU_TANH,
    )
    return name, Preset(shape, source)


PYTHIA_31M = ModelShape(
    name="pythia-31m",
    hidden_size=256,
    intermediate_size=1024,
    num_attention_heads=8,
    num_key_value_heads=8,
    head_dim=32,
    activation=Activation.GELU,
    parallel_block=True,
)

FALCON_7B = ModelShape(
    name="falcon-7b",
    hidden_size=4544,
    intermediate_size=4 * 4544,
    num_attention_heads=71,
    # multi_query overrides the config's num_kv_heads of 71
    num_key_value_heads=1,
    head_dim=64,
    activation=Activation.GELU,
    parallel_block=True,
)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    dict(
        (
            ("pythia-31m", Preset(PYTHIA_31M, "EleutherAI/pythia-31m")),
            _gpt2(768, 12, name="gpt2", source="openai-community/gpt2"),
            _gpt2(1600, 25, name="gpt2-xl", source="openai-community/gpt2-xl"),
            _llama(4096, 11008, 32, 32, name="llama-2-7b", source="meta-llama/Llama-2-7b-hf"),
            _llama(5120, 13824, 40, 40, name="llama-2-13b", source="meta-llama/Llama-2-13b-hf"),
            _llama(8192, 28672, 64, 8, name="llama-2-70b", source="meta-llama/Llama-2-70b-hf"),
            _llama(4096, 14336, 32, 8, name="llama-3-8b", source="meta-llama/Meta-Llama-3-8B"),
            _llama(8192, 28672, 64, 8, name="llama-3-70b", source="meta-llama/Meta-Llama-3-70B"),
            # The first upload listed 16 key-value heads; 8 since.
            _llama(16384, 53248, 128, 8, name="llama-3-405b", source="meta-llama/Llama-3.1-405B"),
            _llama(3584, 18944, 28, 4, name="qwen2.5-7b", source="Qwen/Qwen2.5-7B"),
            ("falcon-7b", Preset(FALCON_7B, "tiiuae/falcon-7b")),
        )
    )
)

OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "gpt2-small": "gpt2",
        # Llama 3.1 kept the layer of Llama 3.
        "llama-3.1-8b": "llama-3-8b",
        "llama-3.1-70b": "llama-3-70b",
        "llama-3.1-405b": "llama-3-405b",
    }
)
