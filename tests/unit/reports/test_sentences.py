import pytest

from service.analysis.crossing import Crossing, Doubt, Outcome
from service.analysis.interval import Estimate
from service.reports import sentences
from tests.unit.analysis.trials import point
from workers.contract.axes import Arrangement, CollectiveImpl, Dtype, Launch, Overlap


def crossing(
    outcome: Outcome,
    *,
    crossed: int = 0,
    batch: Estimate | None = None,
    doubt: Doubt | None = None,
    replicates: int = 3,
) -> Crossing:
    return Crossing(
        outcome=outcome,
        doubt=doubt,
        lowest_batch=1,
        highest_batch=64,
        batch=batch,
        num_replicates=replicates,
        num_crossed=crossed,
        num_unsteady=0,
    )


def said(overtakes: Crossing, pays: Crossing | None = None) -> str:
    return sentences.break_even(point(), overtakes, pays, smaller=1, flags=()).split(": ", 1)[1]


def unsaid(doubt: Doubt, *, crossed: int = 0) -> Crossing:
    return crossing(Outcome.CANNOT_TELL, crossed=crossed, doubt=doubt)


def test_what_cannot_be_told_says_why() -> None:
    assert said(unsaid(Doubt.TOO_WIDE), unsaid(Doubt.NEAR_AN_END, crossed=2)) == (
        "break-even in [1, 64] cannot be told, its interval is wider than the measured range; "
        "whether faster than tp_degree 1 in [1, 64] cannot be told, it is crossed in 2 of 3 "
        "replicates"
    )
    assert said(crossing(Outcome.NEVER_ABOVE), unsaid(Doubt.NEAR_AN_END)) == (
        "communication dominates, break-even not reached in [1, 64]; whether faster than "
        "tp_degree 1 in [1, 64] cannot be told, no side leads beyond chance at an end of the range"
    )
    assert said(unsaid(Doubt.NOT_COVERED)).endswith("no replicate covers the range")


@pytest.mark.parametrize("outcome", [Outcome.NEVER_ABOVE, Outcome.NEVER_BELOW])
def test_who_leads_in_one_replicate_is_said_to_be_seen_in_one(outcome: Outcome) -> None:
    several, alone = (crossing(outcome, replicates=number) for number in (2, 1))
    assert said(alone, alone).count("in [1, 64] (one replicate)") == 2
    assert "replicate" not in said(several, several)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(median=18.2, low=11.6, high=27.4, n=3), "from batch 18 (12 to 27)"),
        (Estimate(median=1.52, low=0.94, high=2.46, n=3), "from batch 1.5 (0.94 to 2.5)"),
        (
            Estimate(median=8.7, low=None, high=38.2, n=3),
            "from batch 8.7 (up to 38, perhaps below 1)",
        ),
        (
            Estimate(median=40.1, low=12.4, high=None, n=3),
            "from batch 40 (12 or more, perhaps above 64)",
        ),
        (Estimate(median=20480.0, low=9.96, high=123456.7, n=3), "from batch 20480 (10 to 123457)"),
    ],
)
def test_batches_are_said_as_well_as_they_are_known(estimate: Estimate, words: str) -> None:
    assert said(crossing(Outcome.CROSSED, crossed=3, batch=estimate)).endswith(words)


def test_a_crossing_without_a_batch_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        said(crossing(Outcome.CROSSED, crossed=3))


@pytest.mark.parametrize(
    ("axis", "value", "word"),
    [
        ("dtype", Dtype.BFLOAT16, "bfloat16"),
        ("arrangement", Arrangement.ROW_ROW, "row_row"),
        ("collective_impl", CollectiveImpl.SHARED_MEMORY, "shared_memory"),
        ("overlap", Overlap.CHUNKED, "overlap chunked"),
        ("launch", Launch.CUDA_GRAPH, "cuda_graph"),
    ],
)
def test_a_series_is_named_by_all_that_tells_it_from_others(
    axis: str, value: str, word: str
) -> None:
    assert axis in sentences.VARIANTS
    crossed = crossing(Outcome.NEVER_BELOW)
    other = point().model_copy(update={axis: value})
    named = [
        sentences.break_even(spec, crossed, None, smaller=None, flags=()).split(":")[0]
        for spec in (point(), other)
    ]
    assert word in named[1].split(", ")
    assert word not in named[0]


def test_a_large_change_that_may_have_been_missed_is_a_factor() -> None:
    assert sentences.could_be_found(0.24) == "a change of 24% would have been found"
    assert sentences.could_be_found(26.2) == (
        "a change by less than a factor of 27 may have been missed"
    )
