import pytest
from pydantic import ValidationError

from workers.contract.shapes import ModelShape

GIVEN: dict[str, object] = {
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
}


def faults(**changes: object) -> set[tuple[int | str, ...]]:
    with pytest.raises(ValidationError) as caught:
        ModelShape.model_validate({**GIVEN, **changes})
    return {error["loc"] for error in caught.value.errors()}


def test_what_is_not_given_follows_from_the_rest() -> None:
    shape = ModelShape.model_validate(GIVEN)
    assert (shape.num_key_value_heads, shape.head_dim) == (32, 128)
    assert (shape.gated, shape.activation) == (False, "gelu")
    assert ModelShape.model_validate({**GIVEN, "gated": True}).activation == "silu"


def test_heads_of_another_width_need_not_divide_the_hidden_size() -> None:
    shape = ModelShape.model_validate({**GIVEN, "num_attention_heads": 80, "head_dim": 128})
    assert shape.head_dim == 128


def test_heads_that_do_not_divide_the_hidden_size_ask_for_head_dim() -> None:
    with pytest.raises(ValidationError, match=r"hidden_size=4096 .* num_attention_heads=33"):
        ModelShape.model_validate({**GIVEN, "num_attention_heads": 33})


@pytest.mark.parametrize("value", [0, -1, 1 << 21, 10**400, True, 2.0, 2.5, "2", [2], float("nan")])
@pytest.mark.parametrize("field", [*GIVEN, "num_key_value_heads", "head_dim"])
def test_absurd_dimension_is_the_only_field_reported(field: str, value: object) -> None:
    assert faults(**{field: value}) == {(field,)}


@pytest.mark.parametrize("field", GIVEN)
def test_missing_dimension_is_the_only_field_reported(field: str) -> None:
    assert faults(**{field: None}) == {(field,)}


@pytest.mark.parametrize("value", ["gpt2", 3, None, [1]])
def test_what_is_no_object_is_no_shape(value: object) -> None:
    with pytest.raises(ValidationError, match="valid dictionary"):
        ModelShape.model_validate(value)


def test_unknown_field_is_reported() -> None:
    assert faults(ffn=3) == {("ffn",)}


@pytest.mark.parametrize("value", [1, "yes", 0.0])
def test_flag_is_a_boolean_and_nothing_like_one(value: object) -> None:
    assert faults(gated=value) == {("gated",)}
    assert faults(parallel_block=value) == {("parallel_block",)}


@pytest.mark.parametrize("name", ["a\x00b", "a\nb", "\x1b[31m", "x" * 201, "\ud800", 5])
def test_name_is_printable_and_short(name: object) -> None:
    assert faults(name=name) == {("name",)}


def test_name_may_be_in_any_script() -> None:
    assert ModelShape.model_validate({**GIVEN, "name": "모델 é 模型"}).name == "모델 é 模型"


def test_key_value_heads_divide_attention_heads() -> None:
    with pytest.raises(ValidationError, match="num_attention_heads=32 is not a multiple"):
        ModelShape.model_validate({**GIVEN, "num_key_value_heads": 5})


def test_shape_survives_json() -> None:
    shape = ModelShape.model_validate({**GIVEN, "name": "house", "gated": True})
    assert ModelShape.model_validate_json(shape.model_dump_json()) == shape


def test_json_schema_requires_only_what_does_not_follow_from_the_rest() -> None:
    assert ModelShape.model_json_schema()["required"] == list(GIVEN)
    answered = ModelShape.model_json_schema(mode="serialization")["required"]
    assert {"num_key_value_heads", "head_dim", "activation"} < set(answered)
