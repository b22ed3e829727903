import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.unit.contract.configs import JSON, load
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.sweep import AXES, SweepSpec

BODY: dict[str, object] = {"models": "gpt2", "blocks": "mlp", "tp_degree": 1, "batch": 1}


def faults(**changes: object) -> dict[tuple[int | str, ...], str]:
    with pytest.raises(ValidationError) as caught:
        SweepSpec.model_validate({**BODY, **changes})
    return {error["loc"]: error["msg"] for error in caught.value.errors()}


def sweep(**changes: object) -> SweepSpec:
    return SweepSpec.model_validate({**BODY, **changes})


def test_the_documented_example_is_taken_but_for_what_comes_later() -> None:
    spec = sweep(
        name="llama2-70b prefill",
        models=[
            "llama-2-70b",
            {"hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32},
            load("falcon-7b"),
        ],
        blocks=["mlp", "attention"],
        arrangement="column_row",
        phase=["train", "prefill"],
        tp_degree=[1, 2, 4, 8],
        batch=[1, 8, 32, 128],
        seq=[1, 2048],
        dtype="bfloat16",
        collective_impl="auto",
        overlap="none",
        replicates=3,
        sampling={"target_rel_ci": 0.02, "max_time_s": 5},
        where={"accelerator": "H100"},
        priority=0,
        tags={"commit": "abc123"},
    )
    assert [model.name for model in spec.models] == ["llama-2-70b", "", "falcon"]
    assert spec.num_combinations == 3 * 2 * 2 * 4 * 4 * 2
    assert (spec.dtype, spec.collective_impl) == (("bfloat16",), ("backend",))


def test_value_alone_stands_for_a_list_of_one() -> None:
    assert sweep() == sweep(**{name: [value] for name, value in BODY.items()})


@pytest.mark.parametrize(
    ("element", "where", "message"),
    [
        ("gpt3", (), "'gpt3' is not a known model; did you mean gpt2"),
        (None, (), "a model is a preset's name"),
        ({"hidden_size": 0}, ("hidden_size",), "greater than or equal to 1"),
        ({"layers": 3}, ("layers",), "Extra inputs"),
        ({"model_type": "llama", "hidden_size": True}, (), "hidden_size=True"),
        ({"model_type": "mixtral"}, (), "mixture of experts"),
    ],
)
def test_wrong_model_is_reported_at_its_place(
    element: object, where: tuple[str, ...], message: str
) -> None:
    found = faults(models=["gpt2", element])
    assert message in found["models", 1, *where]
    assert all(loc[:2] == ("models", 1) for loc in found)


@pytest.mark.parametrize("axis", AXES)
def test_empty_axis_is_reported(axis: str) -> None:
    assert faults(**{axis: []}) == {(axis,): "At least one value is needed"}


@pytest.mark.parametrize("value", [True, 2.0, 2.5, "2", None, math.nan, math.inf, [1], {}])
@pytest.mark.parametrize("axis", ["tp_degree", "batch", "seq"])
def test_only_whole_numbers_count(axis: str, value: object) -> None:
    assert "valid integer" in faults(**{axis: [1, value]})[axis, 1]


@pytest.mark.parametrize("value", [0, -1, 10**9, 10**400])
@pytest.mark.parametrize("axis", ["tp_degree", "batch", "seq"])
def test_count_out_of_range_is_reported_with_the_limit(axis: str, value: int) -> None:
    assert "than or equal to" in faults(**{axis: [1, value]})[axis, 1]


@pytest.mark.parametrize("field", ["replicates", "priority"])
@pytest.mark.parametrize("value", [True, 2.0, "2", 10**400, math.nan])
def test_single_number_is_as_strict(field: str, value: object) -> None:
    assert (field,) in faults(**{field: value})


@pytest.mark.parametrize(
    "sampling",
    [
        {"target_rel_ci": math.nan},
        {"target_rel_ci": True},
        {"max_time_s": math.inf},
        {"max_time_s": "5"},
        {"max_time_s": -1},
        {"min_steps": 1.0},
        {"steps": 3},
    ],
)
def test_sampling_is_as_strict(sampling: dict[str, object]) -> None:
    assert ("sampling", next(iter(sampling))) in faults(sampling=sampling)


def test_whole_seconds_are_seconds() -> None:
    assert sweep(sampling={"max_time_s": 5}).sampling.max_time_s == 5.0


def test_value_named_twice_is_reported() -> None:
    assert "8 is named twice" in faults(batch=[8, 1, 8])["batch",]
    assert "gpt2 is named twice" in faults(models=["gpt2", "GPT2"])["models",]


def test_wrong_value_alone_is_reported_once() -> None:
    assert faults(batch=True) == {("batch", 0): "Input should be a valid integer"}
    assert set(faults(models="gpt3")) == {("models", 0)}


def test_unknown_field_is_reported() -> None:
    assert ("batches",) in faults(batches=[1])


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x" * 201])
def test_labels_are_printable_and_short(text: str) -> None:
    assert ("name",) in faults(name=text)
    assert ("tags", "commit") in faults(tags={"commit": text})
    assert ("where", "accelerator") in faults(where={"accelerator": text})


def test_arithmetic_counts_what_expansion_yields() -> None:
    spec = sweep(
        models=["gpt2", "falcon-7b"],
        blocks=list(Block),
        phase=list(Phase),
        tp_degree=[1, 2, 3],
        batch=[1, 7],
        seq=[1, 5],
        dtype=list(Dtype),
    )
    combinations = list(spec.combinations())
    assert spec.num_combinations == len(combinations) == 2 * 3 * 3 * 3 * 2 * 2 * 3
    assert len({point.spec_key for point in combinations}) == len(combinations)


def test_billion_points_are_counted_without_expansion() -> None:
    thousand = list(range(1, 1001))
    spec = sweep(
        models=["gpt2", "gpt2-xl"],
        blocks=["mlp", "attention"],
        phase=["train", "prefill"],
        tp_degree=list(range(1, 65)),
        batch=thousand,
        seq=thousand,
        dtype=["float32", "bfloat16"],
    )
    start = time.process_time()
    assert spec.num_combinations == 2 * 2 * 2 * 64 * 1000 * 1000 * 2
    assert time.process_time() - start < 1


def test_expansion_keeps_what_divides_and_says_why_the_rest_does_not() -> None:
    expansion = sweep(models="gpt2-xl", blocks=["mlp", "attention"], tp_degree=[1, 2, 5]).expand()
    kept = [(point.block, point.tp_degree) for point in expansion.points]
    assert kept == [("mlp", 1), ("mlp", 2), ("mlp", 5), ("attention", 1), ("attention", 5)]
    (rejection,) = expansion.rejected
    assert (rejection.spec.block, rejection.spec.tp_degree) == ("attention", 2)
    assert (rejection.field, rejection.value) == ("num_attention_heads", 25)
    assert rejection.valid_tp_degrees == (1, 5, 25)


def test_two_names_of_one_shape_are_measured_once() -> None:
    shape = {"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 4}
    spec = sweep(models=[{**shape, "name": "a"}, {**shape, "name": "b"}])
    assert spec.num_combinations == 2
    assert [point.model.name for point in spec.expand().points] == ["a"]


def test_spec_survives_json() -> None:
    spec = sweep(models=["falcon-7b", load("gemma-7b")], tags={"commit": "abc"})
    assert SweepSpec.model_validate_json(spec.model_dump_json()) == spec


def is_refused_cleanly(body: object) -> bool:
    try:
        SweepSpec.model_validate(body)
    except ValidationError as error:
        return error.error_count() > 0
    return True


@given(body=JSON)
def test_no_body_does_worse_than_a_validation_error(body: object) -> None:
    assert is_refused_cleanly(body)


@given(field=st.sampled_from(sorted(SweepSpec.model_fields)), value=JSON, in_list=st.booleans())
def test_no_field_does_worse_than_a_validation_error(
    field: str, value: object, *, in_list: bool
) -> None:
    assert is_refused_cleanly({**BODY, field: [value] if in_list else value})


SHAPE_FIELDS = [
    "model_type",
    "architectures",
    "hidden_size",
    "num_attention_heads",
    "gated",
    "name",
]


@given(element=st.dictionaries(st.sampled_from(SHAPE_FIELDS), JSON))
def test_no_model_does_worse_than_a_validation_error(element: dict[str, object]) -> None:
    assert is_refused_cleanly({**BODY, "models": [element]})


def test_json_schema_says_that_one_value_need_not_be_in_a_list() -> None:
    batch = SweepSpec.model_json_schema()["properties"]["batch"]
    number = {"type": "integer", "minimum": 1, "maximum": 1 << 20}
    assert batch["anyOf"] == [number, {"type": "array", "minItems": 1, "items": number}]
    stored = SweepSpec.model_json_schema(mode="serialization")["properties"]["batch"]
    assert stored["type"] == "array"


def test_json_schema_offers_all_three_ways_to_name_a_model() -> None:
    one, _ = SweepSpec.model_json_schema()["properties"]["models"]["anyOf"]
    preset, shape, config = one["anyOf"]
    assert "llama-2-70b" in preset["description"]
    assert shape == {"$ref": "#/$defs/ModelShape"}
    assert config["type"] == "object"
