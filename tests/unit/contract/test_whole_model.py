import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from workers.contract.axes import Block
from workers.contract.catalogue import AnyWholeModel
from workers.contract.presets import PRESETS
from workers.contract.sharding import valid_tp_degrees
from workers.contract.whole_model import WholeModel

CONFIGS = Path(__file__).parents[2] / "cases" / "model-configs"
ADAPTER: TypeAdapter[WholeModel] = TypeAdapter(AnyWholeModel)


def config(name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((CONFIGS / f"{name}.json").read_text())
    return found


# Published: arXiv:2205.01068 table 1 for OPT, the model pages for the others.
@pytest.mark.parametrize(
    ("name", "num_parameters"),
    [
        ("meta-llama-3-70b", 70.55e9),
        ("qwen2.5-7b", 7.616e9),
        ("qwen3-32b", 32.76e9),
        ("falcon-7b", 7.217e9),
        ("phi-2", 2.78e9),
        ("opt-66b", 66e9),
    ],
)
def test_config_as_it_is_gives_the_published_count(name: str, num_parameters: float) -> None:
    found = ADAPTER.validate_python(config(name))
    assert found.num_parameters == pytest.approx(num_parameters, rel=0.015)


def test_tied_embeddings_are_held_once_and_families_say_what_a_config_leaves_out() -> None:
    gpt2 = config("gpt2-xl")
    del gpt2["tie_word_embeddings"]
    assert ADAPTER.validate_python(gpt2).num_parameters == PRESETS["gpt2-xl"].model.num_parameters
    llama = config("meta-llama-3-70b")
    del llama["tie_word_embeddings"]
    assert not ADAPTER.validate_python(llama).tied_embeddings


def test_what_holds_a_language_model_may_say_whether_its_embeddings_are_tied() -> None:
    text = config("gemma-7b")
    entries = {"model_type": "house", "tie_word_embeddings": True, "text_config": text}
    assert not ADAPTER.validate_python(entries).tied_embeddings
    del text["tie_word_embeddings"]
    assert ADAPTER.validate_python(entries).tied_embeddings
    entries["tie_word_embeddings"] = False
    assert not ADAPTER.validate_python(entries).tied_embeddings


@pytest.mark.parametrize("entry", ["num_hidden_layers", "vocab_size"])
def test_missing_entry_is_named(entry: str) -> None:
    llama = config("meta-llama-3-70b")
    del llama[entry]
    with pytest.raises(ValidationError, match=f"{entry}.* is missing from this config.json"):
        ADAPTER.validate_python(llama)


def test_embeddings_of_another_width_are_refused_with_it() -> None:
    with pytest.raises(ValidationError, match=r"word_embed_proj_dim=512 .* is not hidden_size"):
        ADAPTER.validate_python({**config("opt-66b"), "word_embed_proj_dim": 512})


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ValidationError, match="layer, num_layers and vocab_size"):
        ADAPTER.validate_python(7)


@pytest.mark.parametrize("name", PRESETS)
def test_ranks_hold_at_least_their_share_of_the_parameters(name: str) -> None:
    model = PRESETS[name].model
    for degree in valid_tp_degrees(model.layer, Block.ATTENTION, largest=8):
        share = model.num_parameters / degree
        assert share <= model.parameters_per_rank(tp_degree=degree) <= 1.5 * share
