"""Models that go by a name, each with the published config.json its figures come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from workers.contract.axes import Activation
from workers.contract.shapes import ModelShape
from workers.contract.whole_model import WholeModel, with_usual_vectors


@dataclass(frozen=True, slots=True)
class Preset:
    """A model and where it is published."""

    model: WholeModel
    source: str
    """Hugging Face repository whose config.json states the figures."""

    @property
    def shape(self) -> ModelShape:
        """One layer of it: what a point measures."""
        return self.model.layer


def _llama(
    name: str, hidden: int, ffn: int, heads: int, kv_heads: int, *, num_layers: int, vocab: int
) -> WholeModel:
    layer = ModelShape(
        name=name,
        hidden_size=hidden,
        intermediate_size=ffn,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=hidden // heads,
        gated=True,
        activation=Activation.SILU,
    )
    return with_usual_vectors(layer, has_biases=False, num_layers=num_layers, vocab_size=vocab)


def _gpt2(name: str, hidden: int, heads: int, *, num_layers: int) -> WholeModel:
    layer = ModelShape(
        name=name,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=hidden // heads,
        activation=Activation.GELU_TANH,
    )
    return with_usual_vectors(
        layer,
        has_biases=True,
        num_layers=num_layers,
        vocab_size=50257,
        tied_embeddings=True,
        num_positions=1024,
    )


PYTHIA_31M = with_usual_vectors(
    ModelShape(
        name="pythia-31m",
        hidden_size=256,
        intermediate_size=1024,
        num_attention_heads=8,
        num_key_value_heads=8,
        head_dim=32,
        activation=Activation.GELU,
        parallel_block=True,
    ),
    has_biases=True,
    num_layers=6,
    vocab_size=50304,
)

_QWEN = _llama("qwen2.5-7b", 3584, 18944, 28, 4, num_layers=28, vocab=152064)
QWEN_7B = _QWEN.model_copy(
    # biases behind queries, keys and values alone
    update={"vectors_per_layer": _QWEN.vectors_per_layer + (28 + 2 * 4) * 128}
)

FALCON_7B = WholeModel(
    layer=ModelShape(
        name="falcon-7b",
        hidden_size=4544,
        intermediate_size=4 * 4544,
        num_attention_heads=71,
        # multi_query overrides the config's num_kv_heads of 71
        num_key_value_heads=1,
        head_dim=64,
        activation=Activation.GELU,
        parallel_block=True,
    ),
    num_layers=32,
    vocab_size=65024,
    # one norm of two vectors for attention and MLP together
    vectors_per_layer=2 * 4544,
    vectors_outside=2 * 4544,
)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        model.layer.name: Preset(model, source)
        for model, source in (
            (PYTHIA_31M, "EleutherAI/pythia-31m"),
            (_gpt2("gpt2", 768, 12, num_layers=12), "openai-community/gpt2"),
            (_gpt2("gpt2-xl", 1600, 25, num_layers=48), "openai-community/gpt2-xl"),
            (
                _llama("llama-2-7b", 4096, 11008, 32, 32, num_layers=32, vocab=32000),
                "meta-llama/Llama-2-7b-hf",
            ),
            (
                _llama("llama-2-13b", 5120, 13824, 40, 40, num_layers=40, vocab=32000),
                "meta-llama/Llama-2-13b-hf",
            ),
            (
                _llama("llama-2-70b", 8192, 28672, 64, 8, num_layers=80, vocab=32000),
                "meta-llama/Llama-2-70b-hf",
            ),
            (
                _llama("llama-3-8b", 4096, 14336, 32, 8, num_layers=32, vocab=128256),
                "meta-llama/Meta-Llama-3-8B",
            ),
            (
                _llama("llama-3-70b", 8192, 28672, 64, 8, num_layers=80, vocab=128256),
                "meta-llama/Meta-Llama-3-70B",
            ),
            # The first upload listed 16 key-value heads; 8 since.
            (
                _llama("llama-3-405b", 16384, 53248, 128, 8, num_layers=126, vocab=128256),
                "meta-llama/Llama-3.1-405B",
            ),
            (QWEN_7B, "Qwen/Qwen2.5-7B"),
            (FALCON_7B, "tiiuae/falcon-7b"),
        )
    }
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
