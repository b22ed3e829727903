"""A whole model out of a Hugging Face config.json: its layers, vocabulary and positions."""

from collections.abc import Mapping

from workers.contract import hf_fields
from workers.contract.hf_config import LanguageModel, language_model, shape_of
from workers.contract.whole_model import WholeModel, with_all_biases, with_rms_norms

UNTIED = frozenset(
    {
        *("baichuan", "chatglm", "codegen", "glm", "glm4", "gptj", "gptneox", "helium"),
        *("internlm", "internlm2", "internlm3", "llama", "ministral", "mistral", "mllama"),
        *("nemotron", "olmo", "olmo2", "olmo3", "persimmon", "phi", "phi3"),
        *("qwen", "qwen2", "qwen3", "stablelm", "yi"),
    }
)
"""Families that have an output layer of their own where the config does not say."""
LEARNED_POSITIONS = frozenset({"biogpt", "gpt2", "gptbigcode", "gptneo", "openaigpt", "opt"})
WITH_BIASES = LEARNED_POSITIONS | {"bloom", "codegen", "gptneox", "phi", "starcoder2"}


def whole_model_from_config(entries: Mapping[str, object]) -> WholeModel:
    """Return the model; ValueError names the entry that is missing or wrong.

    Norms and biases are those that the family usually has: a thousandth of all parameters.
    """
    found = language_model(entries)
    config, key = found.config, found.key
    build = with_all_biases if key in WITH_BIASES else with_rms_norms
    return build(
        shape_of(found),
        num_layers=_needed(found, hf_fields.NUM_LAYERS),
        vocab_size=_needed(found, hf_fields.VOCAB_SIZE),
        tied_embeddings=config.flag("tie_word_embeddings", default=key not in UNTIED),
        num_positions=(config.dimension(hf_fields.NUM_POSITIONS) or 0)
        if key in LEARNED_POSITIONS
        else 0,
    )


def _needed(found: LanguageModel, names: tuple[str, ...]) -> int:
    value = found.config.dimension(names)
    if value is None:
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        raise ValueError(f"{names[0]}{others} is missing from this config.json")
    return value
