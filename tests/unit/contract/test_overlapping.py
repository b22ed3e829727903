"""Which communication can run under which compute, and what is sent then."""

import pytest
from hypothesis import given, settings

from tests.unit.contract.points import point
from tests.unit.tp.specs import point_specs
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Overlap, Phase
from workers.contract.layouts import LAYOUTS
from workers.contract.overlapping import judge_overlap
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec
from workers.contract.workload import expected_messages
from workers.tp.overlaps.registry import OVERLAPS


def changed(spec: PointSpec, **fields: object) -> PointSpec:
    return spec.model_copy(update=fields)


def test_every_mode_is_registered_for_the_arrangements_that_can_have_it() -> None:
    for overlap in Overlap:
        possible = {name for name, layout in LAYOUTS.items() if overlap in layout.overlaps}
        possible |= set(Arrangement) if overlap is Overlap.NONE else set()
        assert set(OVERLAPS[overlap].products) == possible


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"overlap": "backward", "phase": "prefill"}, "works for phase=train"),
        ({"overlap": "backward", "arrangement": "row_row"}, "works for arrangement column_row, "),
        ({"overlap": "chunked", "arrangement": "replicated"}, "arrangement column_row, and"),
        ({"overlap": "chunked", "batch": 3, "seq": 1}, "the tokens of a step in two halves"),
        (
            {"overlap": "chunked", "blocks": "attention", "batch": 3, "seq": 2},
            "the batch in two halves, and there are 3; any even number works",
        ),
        ({"overlap": "backward", "collective_impl": "shared_memory"}, "impl=backend works"),
        ({"overlap": "chunked", "collective_impl": "one_shot"}, "overlap=none"),
    ],
)
def test_what_cannot_overlap_is_rejected_saying_what_works(
    fields: dict[str, object], says: str
) -> None:
    given = {"models": "gpt2", "blocks": "mlp", "tp_degree": [1, 2], "batch": 4} | fields
    expansion = SweepSpec.model_validate(given).expand()
    rejection = expansion.rejected[-1]
    assert (rejection.field, rejection.value) == ("overlap", fields["overlap"])
    assert says in rejection.reason
    assert rejection.spec.tp_degree == 2
    assert {spec.tp_degree for spec in expansion.points} == set(rejection.valid_tp_degrees)


def test_halves_of_the_tokens_suffice_where_they_know_nothing_of_one_another() -> None:
    odd = point(batch=3, seq=2)
    assert judge_overlap(changed(odd, overlap=Overlap.CHUNKED)) is None
    assert judge_overlap(changed(odd, overlap=Overlap.CHUNKED, block=Block.LAYER)) is not None


@settings(max_examples=100)
@given(spec=point_specs())
def test_overlap_moves_the_same_bytes_and_halves_are_sent_one_by_one(spec: PointSpec) -> None:
    plain = expected_messages(changed(spec, overlap=Overlap.NONE))
    messages = expected_messages(spec)
    assert not any(message.is_overlapped for message in plain)
    assert sum(m.message_bytes for m in messages) == sum(m.message_bytes for m in plain)
    assert [(m.op, m.where) for m in dict.fromkeys(messages)] == [
        (m.op, m.where) for m in dict.fromkeys(plain)
    ]
    if spec.overlap is Overlap.CHUNKED:
        assert len(messages) == 2 * len(plain)
    else:
        assert len(messages) == len(plain)
    is_some = any(message.is_overlapped for message in messages)
    assert is_some == (spec.overlap is not Overlap.NONE and spec.tp_degree > 1)


def test_backward_overlaps_what_is_sent_of_the_input_and_nothing_else() -> None:
    spec = point(block=Block.LAYER, phase=Phase.TRAIN)
    for arrangement, places in (
        (Arrangement.COLUMN_ROW, ["mlp.backward", "attention.backward"]),
        (Arrangement.COLUMN_COLUMN, ["mlp.input.backward", "attention.input.backward"]),
        (
            Arrangement.SEQUENCE_PARALLEL,
            [
                *("mlp.input.again.backward", "mlp.input.backward"),
                *("attention.input.again.backward", "attention.input.backward"),
            ],
        ),
    ):
        asked = changed(spec, arrangement=arrangement, overlap=Overlap.BACKWARD)
        hidden = [m.where for m in expected_messages(asked) if m.is_overlapped]
        assert hidden == places


def test_an_implementation_without_threads_overlaps_nothing_even_where_it_could_be_cut() -> None:
    asked = point(collective_impl=CollectiveImpl.SHARED_MEMORY)
    assert judge_overlap(asked) is None
    rejection = judge_overlap(changed(asked, overlap=Overlap.CHUNKED))
    assert rejection is not None
    assert rejection.valid_tp_degrees == (1,)
