import pytest

from service.analysis.crossing import Crossing, Outcome
from service.analysis.interval import Estimate
from service.reports import sentences
from tests.unit.analysis.trials import point


def crossing(outcome: Outcome, *, crossed: int = 0, batch: Estimate | None = None) -> Crossing:
    return Crossing(
        outcome=outcome,
        lowest_batch=1,
        highest_batch=64,
        batch=batch,
        num_replicates=3,
        num_crossed=crossed,
        num_unsteady=0,
    )


def said(overtakes: Crossing, pays: Crossing | None = None) -> str:
    return sentences.break_even(point(), overtakes, pays, smaller=1, flags=()).split(": ", 1)[1]


def test_replicates_with_different_leaders_are_told_from_those_that_cross_in_part() -> None:
    assert said(crossing(Outcome.CANNOT_TELL)) == (
        "break-even in [1, 64] cannot be told, replicates disagree about which side dominates"
    )
    assert said(crossing(Outcome.NEVER_ABOVE), crossing(Outcome.CANNOT_TELL, crossed=2)) == (
        "communication dominates, break-even not reached in [1, 64]; whether faster than "
        "tp_degree 1 in [1, 64] cannot be told, it is crossed in 2 of 3 replicates"
    )


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(median=18.2, low=11.6, high=27.4, n=3), "from batch 18 (12 to 27)"),
        (Estimate(median=1.52, low=0.94, high=2.46, n=3), "from batch 1.5 (0.94 to 2.5)"),
        (Estimate(median=20480.0, low=9.96, high=123456.7, n=3), "from batch 20480 (10 to 123457)"),
    ],
)
def test_batches_are_said_as_well_as_they_are_known(estimate: Estimate, words: str) -> None:
    assert said(crossing(Outcome.CROSSED, crossed=3, batch=estimate)).endswith(words)


def test_a_crossing_without_a_batch_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        said(crossing(Outcome.CROSSED, crossed=3))
