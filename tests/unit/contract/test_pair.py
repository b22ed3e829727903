"""A sweep that names a pair: what it becomes, and what is refused."""

import pytest
from pydantic import ValidationError

from workers.contract.expansion import Expansion
from workers.contract.pair import Pair
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection
from workers.contract.sweep import SweepSpec

SHAPE = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 8}


def sweep(pair: object, **overrides: object) -> SweepSpec:
    fields: dict[str, object] = {
        "models": SHAPE,
        "blocks": "mlp",
        "tp_degree": [1, 2],
        "batch": 4,
        "pair": pair,
    }
    return SweepSpec.model_validate(fields | overrides)


def test_every_combination_becomes_two_points_side_by_side() -> None:
    spec = sweep({"axis": "dtype", "values": ["bfloat16", "float32"]})
    expansion = spec.expand()
    assert spec.num_combinations == len(expansion.points) == 4
    assert [(p.tp_degree, p.dtype) for p in expansion.points] == [
        *((1, "bfloat16"), (1, "float32")),
        *((2, "bfloat16"), (2, "float32")),
    ]
    assert [len(trial) for trial in expansion.trials] == [2, 2]
    assert SweepSpec.model_validate_json(spec.model_dump_json()) == spec


def test_a_point_may_be_paired_with_itself() -> None:
    for first, second in sweep({"axis": "same"}).expand().trials:
        assert first == second


def test_auto_is_the_backends_own() -> None:
    spec = sweep({"axis": "collective_impl", "values": ["auto", "shared_memory"]})
    assert [p.collective_impl for p in spec.expand().points[:2]] == ["backend", "shared_memory"]


def test_a_point_is_the_same_in_a_pair_as_alone() -> None:
    alone = sweep(None, dtype="bfloat16").expand()
    pair = sweep({"axis": "dtype", "values": ["float32", "bfloat16"]}).expand()
    assert {p.spec_key for p in alone.points} == {p.spec_key for p in pair.points[1::2]}
    assert alone.trials == tuple((point,) for point in alone.points)


@pytest.mark.parametrize(
    ("pair", "complaint"),
    [
        ({"axis": "tp_degree"}, "cannot differ in tp_degree; a pair works for: overlap, arr"),
        ({"axis": "models"}, "cannot differ in models; a pair works for"),
        ({"axis": "batch"}, "cannot differ in batch; a pair works for"),
        ({"axis": "weather"}, "a pair works for: overlap, arrangement, collective_impl, dtype"),
        ({"axis": 3}, "a pair works for"),
        (
            {"axis": "dtype"},
            "two different values of dtype; it works for float32, bfloat16, float16",
        ),
        ({"axis": "dtype", "values": ["float32", "float32"]}, "two different values of dtype"),
        ({"axis": "dtype", "values": ["float32", "int8"]}, "two different values of dtype"),
        ({"axis": "collective_impl", "values": ["auto", "backend"]}, "two different values"),
        ({"axis": "same", "values": ["float32"]}, "leave them out"),
    ],
)
def test_a_pair_that_cannot_be_is_refused_with_what_works(pair: object, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        sweep(pair)


def test_what_is_wrong_with_a_pair_is_found_at_its_field() -> None:
    for pair, field in (({"axis": "dtype"}, "values"), ({"axis": "batch"}, "axis")):
        with pytest.raises(ValidationError) as caught:
            sweep(pair)
        assert [error["loc"] for error in caught.value.errors()] == [("pair", field)]


def test_a_stack_of_layers_is_another_amount_of_work_than_one() -> None:
    values = ("column_row", "layer_split")
    with pytest.raises(ValidationError, match="layer_split passes through tp_degree layers"):
        Pair.model_validate({"axis": "arrangement", "values": values})


def test_the_axis_of_the_pair_is_not_named_twice() -> None:
    pair = {"axis": "dtype", "values": ["float32", "bfloat16"]}
    with pytest.raises(ValidationError, match="gives it as float16 too; name its") as caught:
        sweep(pair, dtype="float16")
    assert caught.value.errors()[0]["loc"] == ("pair",)
    assert sweep(pair, dtype="float32").expand().trials, "its default is what is left out"


def test_of_a_pair_whose_one_point_cannot_be_measured_neither_is() -> None:
    pair = {"axis": "arrangement", "values": ["column_row", "sequence_parallel"]}
    expansion = sweep(pair, tp_degree=8, batch=[4, 16]).expand()
    assert [p.batch for p in expansion.points] == [16, 16], "4 tokens do not go to 8 ranks"
    assert {r.spec.arrangement for r in expansion.rejected} == {"column_row", "sequence_parallel"}
    reasons = [r.reason for r in expansion.rejected if r.spec.arrangement == "column_row"]
    assert reasons[0].startswith("the point that it is paired with cannot be measured: ")


def test_what_nodes_refuse_later_goes_with_its_partner_too() -> None:
    def refuse_bfloat16(point: PointSpec) -> Rejection | None:
        if point.dtype != "bfloat16" or point.tp_degree == 1:
            return None
        return Rejection(spec=point, field="dtype", value=2, reason="no", valid_tp_degrees=())

    pair = {"axis": "dtype", "values": ["float32", "bfloat16"]}
    expansion: Expansion = sweep(pair).expand().without(refuse_bfloat16)
    assert [p.tp_degree for p in expansion.points] == [1, 1]
    assert len(expansion.rejected) == 2
