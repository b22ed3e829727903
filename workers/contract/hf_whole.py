"""A whole model out of a Hugging Face config.json: its layers, vocabulary and positions."""

from collections.abc import Mapping

from workers.contract import hf_fields
from workers.contract.hf_config import language_model, required, shape_of
from workers.contract.hf_fields import HfConfig, wrong
from workers.contract.whole_model import WholeModel, with_usual_vectors

UNTIED = frozenset(
    {
        *("arcee", "baichuan", "bitnet", "chameleon", "chatglm", "codegen", "cwm", "emu3"),
        *("exaone", "exaone4", "glm", "glm4", "gptj", "gptneox", "granite", "helium"),
        *("hunyuanv1dense", "internlm", "internlm2", "internlm3", "jais2", "llama", "ministral"),
        *("ministral3", "mistral", "mllama", "moshi", "nanochat", "nemotron", "olmo", "olmo2"),
        *("olmo3", "persimmon", "phi", "phi3", "qwen", "qwen2", "qwen3", "seedoss", "stablelm"),
        *("telechat", "yi"),
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
    layer = shape_of(found)
    width = config.dimension(hf_fields.EMBEDDING_WIDTH) or layer.hidden_size
    if width != layer.hidden_size:
        complaint = "is not hidden_size; embeddings of a width of their own are not planned"
        raise wrong(hf_fields.EMBEDDING_WIDTH[0], width, complaint)
    is_tied = HfConfig(entries).flag("tie_word_embeddings", default=key not in UNTIED)
    return with_usual_vectors(
        layer,
        has_biases=key in WITH_BIASES,
        num_layers=required(config, hf_fields.NUM_LAYERS, found.family),
        vocab_size=required(config, hf_fields.VOCAB_SIZE, found.family),
        tied_embeddings=config.flag("tie_word_embeddings", default=is_tied),
        num_positions=(config.dimension(hf_fields.NUM_POSITIONS) or 0)
        if key in LEARNED_POSITIONS
        else 0,
    )
