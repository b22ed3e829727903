"""The shape of a layer out of a Hugging Face config.json, as it is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeGuard

from workers.contract import hf_fields
from workers.contract.axes import Activation
from workers.contract.frozen import LARGEST_LABEL
from workers.contract.hf_families import Family, family_of
from workers.contract.hf_fields import HfConfig, wrong
from workers.contract.hf_refusals import refuse_what_is_not_measured
from workers.contract.shapes import ModelShape

MARKS = ("model_type", "architectures")
LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")

ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "gelu": Activation.GELU,
        "gelu_python": Activation.GELU,
        "gelu_new": Activation.GELU_TANH,
        "gelu_fast": Activation.GELU_TANH,
        "gelu_tanh": Activation.GELU_TANH,
        "gelu_accurate": Activation.GELU_TANH,
        "gelu_pytorch_tanh": Activation.GELU_TANH,
        "gelu_python_tanh": Activation.GELU_TANH,
        "relu": Activation.RELU,
        "relu2": Activation.RELU_SQUARED,
        "silu": Activation.SILU,
        "swish": Activation.SILU,
        "swiglu": Activation.SILU,
        "geglu": Activation.GELU,
    }
)
GATING = frozenset({"silu", "swish", "swiglu", "geglu"})
"""Activations that mean a gated MLP where the family is not known."""
GATE_FLAG = re.compile(r"(?:is_|use_|ffn_with_|mlp_)*(?:gated|glu)(?:_(?:act|mlp|ffn))?")
SINGLE_KEY_VALUE_HEAD = frozenset({"multiquery", "multiquery_attention"})
KEY_VALUE_HINT = re.compile(r"(?=.*(?:head|group))(?=.*(?:kv|key_value|query_group|share)).*")
"""Entries that may tell of fewer key-value heads, by a name that is not known here."""
PARALLEL_FLAGS = ("parallel_attn", "use_parallel_residual", "parallel_residual", "parallel_block")


def is_hf_config(element: object) -> TypeGuard[dict[str, object]]:
    """Whether an element of `models` says that it is a config.json."""
    return isinstance(element, dict) and any(element.get(mark) is not None for mark in MARKS)


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """The part of a config.json that describes the language model."""

    config: HfConfig
    key: str
    """Of the family; empty where it is not known."""
    family: Family
    label: str


def language_model(entries: Mapping[str, object]) -> LanguageModel:
    """Find it, whatever it is nested in; ValueError names what is not measured."""
    outer = HfConfig(entries)
    names = _names(outer)
    config = outer
    while (inner := _language_part(config)) is not None:
        refuse_what_is_not_measured(config, names)
        config, names = inner, _names(inner) or names
    refuse_what_is_not_measured(config, names)
    key, family = family_of(names)
    return LanguageModel(config, key, family, _label(outer, config, names))


def shape_from_config(entries: Mapping[str, object]) -> ModelShape:
    """Return the shape of one layer; ValueError names the entry that is missing or wrong."""
    return shape_of(language_model(entries))


def shape_of(found: LanguageModel) -> ModelShape:
    """Return the shape of one of its layers."""
    config, family = found.config, found.family
    hidden = required(config, hf_fields.HIDDEN_SIZE, family)
    heads = required(config, hf_fields.NUM_ATTENTION_HEADS, family)
    activation, gated = _activation(config, family)
    return ModelShape(
        name=found.label,
        hidden_size=hidden,
        intermediate_size=_intermediate_size(config, family, hidden=hidden),
        num_attention_heads=heads,
        num_key_value_heads=_num_key_value_heads(config, found.key, family, heads=heads),
        head_dim=_head_dim(config, family, hidden=hidden, heads=heads),
        gated=gated,
        activation=activation,
        parallel_block=_is_parallel(config, family),
    )


def required(config: HfConfig, names: tuple[str, ...], family: Family) -> int:
    """Return a dimension by any of its names; ValueError says that it is missing."""
    size = _size(config, names, family)
    if size is None:
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        raise ValueError(f"{names[0]}{others} is missing from this config.json")
    return size


def _names(config: HfConfig) -> tuple[str, ...]:
    """What the config calls its kind: model_type first, then its architectures."""
    model_type = config.text(("model_type",))
    architectures = config.entries.get("architectures")
    if architectures is None:
        architectures = []
    if not isinstance(architectures, list) or not all(isinstance(a, str) for a in architectures):
        raise wrong("architectures", architectures, "must be a list of strings")
    return ((model_type[1],) if model_type else ()) + tuple(architectures)


def _language_part(config: HfConfig) -> HfConfig | None:
    parts = (config.part(name) for name in LANGUAGE_PARTS)
    return next((part for part in parts if part is not None), None)


def _label(outer: HfConfig, config: HfConfig, names: tuple[str, ...]) -> str:
    candidates = (outer.entries.get("_name_or_path"), config.entries.get("_name_or_path"))
    for label in (*candidates, *_names(outer), *names):
        if isinstance(label, str) and label and label.isprintable():
            return label[:LARGEST_LABEL]
    return ""


def _size(config: HfConfig, names: tuple[str, ...], family: Family) -> int | None:
    size = config.dimension(names)
    if size is None and config.is_nested:
        return family.omitted.get(names[0])
    return size


def _intermediate_size(config: HfConfig, family: Family, *, hidden: int) -> int:
    size = _size(config, hf_fields.INTERMEDIATE_SIZE, family)
    if size is not None:
        return size // 2 if family.is_ffn_both_halves else size
    if ratio := config.dimension(hf_fields.INTERMEDIATE_RATIO):
        return ratio * hidden
    if family.is_ffn_four_hidden or "n_inner" in config.entries:
        return 4 * hidden
    return required(config, hf_fields.INTERMEDIATE_SIZE, family)


def _num_key_value_heads(config: HfConfig, key: str, family: Family, *, heads: int) -> int:
    if key == "falcon" and "n_head_kv" not in config.entries:
        return _falcon_key_value_heads(config, heads)
    attention = config.part("attn_config") or HfConfig({})
    kinds = (attention.entries.get("attn_type"), config.entries.get("attention_head_type"))
    if set(kinds) & SINGLE_KEY_VALUE_HEAD:
        return 1
    if key == "chatglm" and not config.flag("multi_query_attention", default=False):
        return heads
    given = _size(config, hf_fields.NUM_KEY_VALUE_HEADS, family)
    given = given or attention.dimension(hf_fields.NUM_KEY_VALUE_HEADS)
    if given is None and config.flag("multi_query", default=family.multi_query):
        return 1
    if given is None:
        _refuse_other_key_value_heads(config, heads)
    return given or heads


def _falcon_key_value_heads(config: HfConfig, heads: int) -> int:
    if config.flag("new_decoder_architecture", default=False):
        return config.dimension(hf_fields.NUM_KEY_VALUE_HEADS) or heads
    return 1 if config.flag("multi_query", default=True) else heads


def _refuse_other_key_value_heads(config: HfConfig, heads: int) -> None:
    for name, value in config.entries.items():
        is_known = name in hf_fields.NUM_KEY_VALUE_HEADS or value in (0, heads)
        if type(value) is int and not is_known and KEY_VALUE_HINT.fullmatch(name):
            advice = "give num_key_value_heads, or the explicit shape"
            raise wrong(name, value, f"may tell of fewer key-value heads; {advice}")


def _head_dim(config: HfConfig, family: Family, *, hidden: int, heads: int) -> int:
    size = config.dimension(hf_fields.HEAD_DIM) or family.head_dim
    if size is not None:
        return size
    if hidden % heads:
        msg = (
            f"hidden_size={hidden} is not divisible by num_attention_heads={heads} and this "
            "config.json has no head_dim"
        )
        raise ValueError(msg)
    return hidden // heads


def _activation(config: HfConfig, family: Family) -> tuple[Activation, bool]:
    field, given = config.text(hf_fields.ACTIVATION) or ("hidden_act", family.activation)
    if given is None:
        msg = (
            "hidden_act is missing from this config.json, and its model_type is not known, so that "
            "nothing tells whether its MLP is gated; give the explicit shape"
        )
        raise ValueError(msg)
    if given == "gelu" and family.gated and family.activation == "gelu_pytorch_tanh":
        given = family.activation  # as transformers reads the first configs of Gemma
    if given not in ACTIVATIONS:
        known = ", ".join(sorted(ACTIVATIONS))
        raise wrong(field, given, f"is not measured; known are {known}")
    return ACTIVATIONS[given], _is_gated(config, family, given)


def _is_gated(config: HfConfig, family: Family, activation: str) -> bool:
    ffn = config.part("ffn_config") or HfConfig({})
    if kind := ffn.text(("ffn_type",)):
        if kind[1] != "mptmlp":
            raise wrong("ffn_type", kind[1], "is not measured; mptmlp is")
        return False
    if family.gated is not None:
        return family.gated
    flags = [name for name in config.entries if GATE_FLAG.fullmatch(name)]
    return config.flag(flags[0], default=False) if flags else activation in GATING


def _is_parallel(config: HfConfig, family: Family) -> bool:
    if config.flag("new_decoder_architecture", default=False):
        return True
    told = next((name for name in PARALLEL_FLAGS if config.entries.get(name) is not None), "")
    return config.flag(told, default=family.parallel)
