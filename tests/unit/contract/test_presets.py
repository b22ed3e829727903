import pytest

from workers.contract.catalogue import resolve_model
from workers.contract.presets import OTHER_NAMES, PRESETS

# hidden, ffn, heads, kv heads, head_dim, gated, activation, parallel: read from each config.json
PUBLISHED = {
    "pythia-31m": (256, 1024, 8, 8, 32, False, "gelu", True),
    "gpt2": (768, 3072, 12, 12, 64, False, "gelu_tanh", False),
    "gpt2-xl": (1600, 6400, 25, 25, 64, False, "gelu_tanh", False),
    "llama-2-7b": (4096, 11008, 32, 32, 128, True, "silu", False),
    "llama-2-13b": (5120, 13824, 40, 40, 128, True, "silu", False),
    "llama-2-70b": (8192, 28672, 64, 8, 128, True, "silu", False),
    "llama-3-8b": (4096, 14336, 32, 8, 128, True, "silu", False),
    "llama-3-70b": (8192, 28672, 64, 8, 128, True, "silu", False),
    "llama-3-405b": (16384, 53248, 128, 8, 128, True, "silu", False),
    "qwen2.5-7b": (3584, 18944, 28, 4, 128, True, "silu", False),
    "falcon-7b": (4544, 18176, 71, 1, 64, False, "gelu", True),
}

# Of each repository's safetensors, as its page states them: all parameters. Falcon's holds its
# embedding twice.
NUM_PARAMETERS = {
    "pythia-31m": 30_494_720,
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3-405b": 405_853_388_800,
    "qwen2.5-7b": 7_615_616_512,
    "falcon-7b": 7_217_189_760,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_preset_has_the_published_figures(name: str) -> None:
    shape = resolve_model(name)
    assert (
        shape.hidden_size,
        shape.intermediate_size,
        shape.num_attention_heads,
        shape.num_key_value_heads,
        shape.head_dim,
        shape.gated,
        str(shape.activation),
        shape.parallel_block,
    ) == PUBLISHED[name]


def test_every_preset_is_checked_here_and_names_its_source() -> None:
    assert set(PRESETS) == set(PUBLISHED)
    for name, preset in PRESETS.items():
        assert preset.shape.name == name
        owner, repository = preset.source.split("/")
        assert owner
        assert repository


@pytest.mark.parametrize("name", PRESETS)
def test_parameters_are_the_published_number(name: str) -> None:
    assert PRESETS[name].model.num_parameters == NUM_PARAMETERS[name]


def test_name_is_found_in_any_case_and_keeps_its_one_spelling() -> None:
    assert resolve_model(" Llama-2-70B ").name == "llama-2-70b"


@pytest.mark.parametrize(("other", "name"), OTHER_NAMES.items())
def test_other_name_means_the_same_shape(other: str, name: str) -> None:
    assert resolve_model(other) == PRESETS[name].shape


def test_unknown_name_is_answered_with_the_nearest_and_all_known() -> None:
    with pytest.raises(ValueError, match="'llama-2-7'") as caught:
        resolve_model("llama-2-7")
    message = str(caught.value)
    assert "did you mean llama-2-7b" in message
    assert all(name in message for name in PRESETS)


@pytest.mark.parametrize("name", ["", "zzz", "\ud800", "x" * 100_000])
def test_unlike_any_name_is_refused_in_a_short_printable_message(name: str) -> None:
    with pytest.raises(ValueError, match="is not a known model") as caught:
        resolve_model(name)
    assert len(str(caught.value)) < 600
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("element", [None, True, 7, 1.5, ["gpt2"]])
def test_what_is_no_model_at_all_is_refused(element: object) -> None:
    with pytest.raises(ValueError, match="a model is"):
        resolve_model(element)
