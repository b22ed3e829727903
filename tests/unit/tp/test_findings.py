"""The verdict from numbers alone; planted faults on real ranks are in tests/distributed."""

from dataclasses import replace

import pytest
import torch

from workers.contract.axes import Block, Phase
from workers.contract.errors import CollectiveCountError, NumericsError
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.workload import expected_messages
from workers.tp.comparison import compare
from workers.tp.counter import CountedMessage
from workers.tp.findings import Findings, Judge

SPEC = PointSpec(
    model=ModelShape.model_validate(
        {"hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2, "gated": True}
    ),
    block=Block.MLP,
    phase=Phase.TRAIN,
    tp_degree=2,
    batch=2,
    seq=4,
)
JUDGE = Judge(SPEC, tolerance=1e-4)
RIGHT = Findings(
    num_forward=1,
    forward_bytes=256,
    num_backward=1,
    backward_bytes=256,
    num_other_ops=0,
    num_changed=0,
    num_odd_bits=0,
    max_abs_error=1e-6,
    max_rel_error=1e-6,
    blamed=0,
    blamed_rel_error=1e-6,
    blamed_multiple=0,
)


def test_ranks_that_are_right_are_not_blamed() -> None:
    assert JUDGE.find_error([RIGHT, RIGHT]) is None


def test_findings_survive_the_exchange() -> None:
    assert Findings.from_row(RIGHT.to_row()) == RIGHT


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"num_forward": 0}, "g is missing"),
        ({"num_forward": 2}, "reduced twice"),
        ({"num_backward": 0}, "does not require grad"),
        ({"num_backward": 2}, "an f of its own"),
        ({"num_other_ops": 1}, "another arrangement"),
        ({"forward_bytes": 128}, "sent 128 bytes forward and 256 backward instead of 256 and 256"),
    ],
)
def test_collectives_other_than_expected_are_named(wrong: dict[str, float], says: str) -> None:
    error = JUDGE.find_error([RIGHT, replace(RIGHT, **wrong)])
    assert isinstance(error, CollectiveCountError)
    assert str(error).startswith("rank 1: ")
    assert says in str(error)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"num_changed": 1}, "wrote to its input"),
        ({"num_odd_bits": 3}, "other bits than rank 0's"),
        ({"blamed_rel_error": 0.5}, "the output is off the unsharded twin's by 0.5"),
        ({"blamed_rel_error": float("inf")}, "gate and up are swapped"),
        ({"blamed_rel_error": 1, "blamed_multiple": 2}, "2 times the twin's"),
        ({"blamed_rel_error": 0.5, "blamed": 1}, "the input's gradient is off"),
        ({"blamed_rel_error": 0.5, "blamed": 1}, "f summed the gradient before"),
        ({"blamed_rel_error": 0.5, "blamed": 2}, "the gradient of gate is off"),
        ({"blamed_rel_error": 0.5, "blamed": 4}, "the gradient of down is off"),
        ({"blamed_rel_error": 0.5, "blamed": 4}, "changed in place after it was saved"),
    ],
)
def test_wrong_numbers_are_named_with_their_likely_cause(
    wrong: dict[str, float], says: str
) -> None:
    error = JUDGE.find_error([replace(RIGHT, **wrong), RIGHT])
    assert isinstance(error, NumericsError)
    assert str(error).startswith("rank 0: ")
    assert says in str(error)


def test_a_count_on_any_rank_explains_wrong_numbers_on_all() -> None:
    off = replace(RIGHT, blamed_rel_error=1.0)
    error = JUDGE.find_error([off, replace(off, num_backward=0)])
    assert isinstance(error, CollectiveCountError)


def test_one_rank_alone_is_expected_to_send_nothing() -> None:
    alone = Judge(SPEC.model_copy(update={"tp_degree": 1}), tolerance=1e-4)
    silent = replace(RIGHT, num_forward=0, forward_bytes=0, num_backward=0, backward_bytes=0)
    assert alone.find_error([silent]) is None
    assert isinstance(alone.find_error([RIGHT]), CollectiveCountError)


def test_findings_blame_the_first_tensor_beyond_the_tolerance_not_the_worst() -> None:
    """An output that is off drags every gradient along, often farther."""
    twin = torch.ones(3)
    differences = [compare(twin * factor, twin, tolerance=1e-4) for factor in (1, 1.5, 9)]
    message = CountedMessage("all_reduce", 64)
    found = Findings.of(
        ([message], [CountedMessage("broadcast_", 1), message]),
        expected=expected_messages(SPEC),
        num_changed=0,
        num_odd_bits=0,
        differences=differences,
        tolerance=1e-4,
    )
    assert (found.blamed, found.blamed_rel_error, found.blamed_multiple) == (1, 0.5, 1.5)
    assert (found.max_rel_error, found.max_abs_error) == (8, 8)
    assert (found.num_forward, found.num_backward, found.num_other_ops) == (1, 2, 1)
    assert found.backward_bytes == 65


def test_errors_are_relative_to_the_twins_largest_element() -> None:
    difference = compare(torch.tensor([100.0, 1.5]), torch.tensor([100.0, 1.0]), tolerance=1e-4)
    assert (difference.abs_error, difference.rel_error) == (0.5, 0.005)
    assert difference.multiple == 0


def test_a_twin_of_zeros_is_compared_absolutely() -> None:
    assert compare(torch.zeros(2), torch.zeros(2), tolerance=1e-4).rel_error == 0
    assert compare(torch.ones(2), torch.zeros(2), tolerance=1e-4).rel_error == 1


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_what_is_not_finite_is_infinitely_wrong(value: float) -> None:
    difference = compare(torch.tensor([value]), torch.ones(1), tolerance=1e-4)
    assert difference.rel_error == torch.inf
