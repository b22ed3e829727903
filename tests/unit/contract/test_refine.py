import pytest
from pydantic import ValidationError

from workers.contract.refine import Refine
from workers.contract.sweep import SweepSpec

BODY = {"models": "pythia-31m", "blocks": "mlp", "tp_degree": [1, 2], "batch": [1, 64]}


def sweep(**more: object) -> SweepSpec:
    return SweepSpec.model_validate({**BODY, **more})


def test_a_flag_stands_for_the_defaults() -> None:
    assert sweep(refine=True).refine == Refine()
    assert sweep(refine={"rel_width": 0.1}).refine == Refine(rel_width=0.1)
    assert sweep(refine=False).refine is sweep().refine is None


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"refine": True, "batch": 4}, "at least two batches"),
        ({"refine": {"rel_width": 0}}, "greater than 0"),
        ({"refine": {"points": 3}}, "Extra inputs"),
        ({"refine": True, "pair": {"axis": "same"}}, "a pair does not have"),
    ],
)
def test_what_cannot_be_refined_is_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        sweep(**wrong)


def test_refinement_leaves_the_points_and_their_keys_alone() -> None:
    assert sweep(refine=True).expand() == sweep().expand()
