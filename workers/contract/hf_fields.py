"""Reading a Hugging Face config.json entry by entry, whatever its family calls a dimension."""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass

from workers.contract.shapes import LARGEST_DIMENSION

HIDDEN_SIZE = ("hidden_size", "n_embd", "d_model", "n_embed")
INTERMEDIATE_SIZE = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size")
INTERMEDIATE_RATIO = ("expansion_ratio", "intermediate_multiple_size")
NUM_ATTENTION_HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "attention_heads")
NUM_KEY_VALUE_HEADS = (
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "n_kv_heads",
    "kv_n_heads",
    "multi_query_group_num",
    "num_query_groups",
    "num_attention_groups",
)
HEAD_DIM = ("head_dim", "kv_channels", "attention_head_dim")
NUM_LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
VOCAB_SIZE = ("vocab_size", "padded_vocab_size")
EMBEDDING_WIDTH = ("word_embed_proj_dim",)
NUM_POSITIONS = ("n_positions", "max_position_embeddings")
ACTIVATION = ("hidden_activation", "hidden_act", "activation_function", "activation")


@dataclass(frozen=True, slots=True)
class HfConfig:
    """The entries of one config.json, or of the part of it that is the language model."""

    entries: Mapping[str, object]
    is_nested: bool = False
    """Whether another config holds this one; then what equals its class's default is left out."""

    def dimension(self, names: tuple[str, ...]) -> int | None:
        """Return the size given under one of several names, None where under none of them."""
        found = {name: self._size(name) for name in names if self.entries.get(name) is not None}
        if len(set(found.values())) > 1:
            pairs = " and ".join(f"{name}={value}" for name, value in found.items())
            raise ValueError(f"{pairs} of this config.json contradict each other")
        return next(iter(found.values()), None)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a true-or-false entry, or what the family takes where it is absent or null."""
        value = self.entries.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise wrong(name, value, "must be a boolean")
        return value

    def text(self, names: tuple[str, ...]) -> tuple[str, str] | None:
        """Return the first of these names that is given, with its text."""
        for name in names:
            value = self.entries.get(name)
            if value is None:
                continue
            if not isinstance(value, str):
                raise wrong(name, value, "must be a string")
            return name, value
        return None

    def part(self, name: str) -> "HfConfig | None":
        """Return a config nested under this name, None where there is none."""
        value = self.entries.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise wrong(name, value, "must be an object")
        return HfConfig(value, is_nested=True)

    def _size(self, name: str) -> int:
        value = self.entries[name]
        if isinstance(value, list):
            advice = "give the explicit shape of the layer you mean"
            raise wrong(name, value, f"differs from layer to layer; {advice}")
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong(name, value, "must be a whole number")
        if not 1 <= value <= LARGEST_DIMENSION:
            raise wrong(name, value, f"must be from 1 to {LARGEST_DIMENSION}")
        return value


def wrong(name: str, value: object, complaint: str) -> ValueError:
    """An error that names the entry and shows its value, cut short where it is long."""
    return ValueError(f"{name}={reprlib.repr(value)} of this config.json {complaint}")
