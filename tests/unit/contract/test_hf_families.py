import json
from collections.abc import Mapping

import pytest

from tests.unit.contract.configs import CLASSES
from workers.contract.catalogue import resolve_model
from workers.contract.hf_families import FAMILIES, bare_name, family_of

TABLE: Mapping[str, Mapping[str, int | bool]] = json.loads(CLASSES.read_text())["classes"]
NAMED_IN_FULL = [name for name in TABLE if family_of([name])[1].omitted]

# Families whose classes are published beside their checkpoints.
ELSEWHERE = {
    *("baichuan", "chatglm", "internlm", "internlm2", "minicpm", "moshi", "qwen", "telechat"),
    "yi",
}


def test_every_family_is_in_the_table_or_known_to_live_elsewhere() -> None:
    assert {bare_name(name) for name in TABLE} | ELSEWHERE == set(FAMILIES)
    assert len(NAMED_IN_FULL) > 35


@pytest.mark.parametrize("name", TABLE)
def test_family_is_gated_as_its_weights_are(name: str) -> None:
    sizes = ("hidden_size", "intermediate_size", "num_attention_heads", "head_dim")
    entries = {size: TABLE[name][size] for size in sizes}
    assert resolve_model({"model_type": name, **entries}).gated == TABLE[name]["gated"]


@pytest.mark.parametrize("name", NAMED_IN_FULL)
def test_nested_config_that_says_nothing_is_its_class(name: str) -> None:
    shape = resolve_model({"model_type": "house", "text_config": {"model_type": name}})
    assert {field: getattr(shape, field) for field in TABLE[name]} == TABLE[name]


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("gemma3_text", "gemma3"),
        ("Gemma3ForConditionalGeneration", "gemma3"),
        ("mllama_text_model", "mllama"),
        ("GPTNeoXForCausalLM", "gptneox"),
        ("GPT2LMHeadModel", "gpt2"),
        ("ChatGLMModel", "chatglm"),
        ("Qwen2_5_VLForConditionalGeneration", "qwen25vl"),
        ("FormerForCausalLM", "former"),
        ("", ""),
    ],
)
def test_type_and_architectures_of_a_family_have_one_bare_name(name: str, bare: str) -> None:
    assert bare_name(name) == bare
