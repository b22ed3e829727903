from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.recommendation.choice import (
    Choice,
    Degree,
    Objective,
    Room,
    choose,
)
from service.analysis.recommendation.evidence import Ends, Errors, Evidence, speed_up
from tests.unit.analysis.recommendation.evidences import measured, predicted

ROOM = Room(memory_bytes=80, num_devices=8)


def degree(tp_degree: int, needed: int | None = 10, obstacle: str | None = None) -> Degree:
    return Degree(tp_degree, obstacle, None if obstacle else needed)


def chosen(
    evidence: dict[int, Evidence],
    *degrees: Degree,
    objective: Objective = Objective.LATENCY,
    threshold: float = 0.15,
    room: Room = ROOM,
) -> Choice:
    return choose(
        degrees or tuple(degree(d) for d in (1, 2, 4, 8)),
        evidence,
        room=room,
        objective=objective,
        threshold=threshold,
        rng=np.random.default_rng(0),
    )


def reason(choice: Choice, tp_degree: int) -> str:
    return next(c.reason for c in choice.candidates if c.degree.tp_degree == tp_degree)


def test_latency_takes_the_largest_degree_that_still_gains() -> None:
    found = chosen({1: predicted(100), 2: predicted(60), 4: predicted(40), 8: predicted(45)})
    assert found.tp_degree == 4
    assert reason(found, 4) == "speed-up 1.50 (1.50 to 1.50) over tp_degree 2, more than 1"
    assert "speed-up 0.89 (0.89 to 0.89) over tp_degree 4, not more than 1" in reason(found, 8)


def test_throughput_asks_for_more_than_replicas_would_give() -> None:
    evidence = {1: predicted(100), 2: predicted(60), 4: predicted(24)}
    found = chosen(evidence, objective=Objective.THROUGHPUT)
    assert found.tp_degree == 4, "superlinear, as where a cache begins to hold the weights"
    assert "over tp_degree 1, not more than 2" in reason(found, 2)


def test_more_communication_than_the_threshold_is_not_worth_it() -> None:
    evidence = {1: predicted(100), 2: predicted(60, share=0.2)}
    found = chosen(evidence)
    assert found.tp_degree == 1
    assert reason(found, 2) == "20% of its step is communication, more than 15%"
    assert chosen(evidence, threshold=0.25).tp_degree == 2


def test_a_gain_within_the_noise_is_none() -> None:
    noisy = {1: measured(100, 105, 95), 2: measured(90, 108, 95)}
    assert chosen(noisy).tp_degree == 1
    clear = {1: measured(100, 150, 50), 2: measured(60, 90, 30)}
    assert chosen(clear).tp_degree == 2, "each replicate gained the same"


@pytest.mark.parametrize(
    ("alone", "two"),
    [
        (measured(100), measured(99)),
        (measured(100), measured(98, 99, 100)),
        (measured(99, 100, 101), measured(99)),
        (measured(100), predicted(99)),
        (predicted(100), measured(99)),
    ],
)
def test_one_replicate_of_either_degree_decides_nothing(alone: Evidence, two: Evidence) -> None:
    """It has no interval: a speed-up may be chance, however large."""
    found = chosen({1: alone, 2: two})
    assert found.tp_degree == 1
    assert [one.is_undecided for one in found.candidates] == [False, True, False, False]
    assert reason(found, 2) == (
        "cannot tell: speed-up 1.01 from one replicate over tp_degree 1, needs more than 1"
    )


def test_two_predictions_are_compared_best_with_best_and_worst_with_worst() -> None:
    """They are of one model, whose errors lean the same way."""
    assert chosen({1: predicted(100, band=0.3), 2: predicted(60, band=0.3)}).tp_degree == 2
    assert chosen({1: predicted(100, band=0.1), 2: predicted(80, band=0.4)}).tp_degree == 1


def test_what_two_predictions_err_by_each_for_itself_may_leave_it_undecided() -> None:
    sure, unsure = (
        chosen({1: predicted(100, band=0.5, own=own), 2: predicted(80, band=0.5, own=own)})
        for own in (0.1, 0.2)
    )
    assert sure.tp_degree == 2
    assert unsure.tp_degree == 1
    assert [one.is_undecided for one in unsure.candidates] == [False, True, False, False]
    assert "cannot tell: speed-up 1.25 (0.94 to 1.66)" in reason(unsure, 2)


def test_a_slow_link_beside_fast_compute_bounds_a_ratio_and_the_other_way_round() -> None:
    """The same compute at both degrees, the same link: but either may be off alone."""
    alone = Errors(compute=Ends(100, 200), communication=Ends(0, 0), own=0)
    two = Errors(compute=Ends(50, 100), communication=Ends(20, 60), own=0)
    found = speed_up(
        replace(predicted(150), errors=alone),
        replace(predicted(100), errors=two),
        rng=np.random.default_rng(0),
    )
    assert found.low == pytest.approx(100 / 110)
    assert found.high == pytest.approx(200 / 120)


def test_a_prediction_is_held_against_a_measurement_by_its_outer_ends() -> None:
    assert chosen({1: measured(100, 101, 102), 2: predicted(60, band=0.3)}).tp_degree == 2
    assert chosen({1: measured(100, 101, 102), 2: predicted(80, band=0.3)}).tp_degree == 1


def test_without_evidence_memory_alone_decides() -> None:
    found = chosen({}, degree(1, 300), degree(2, 150), degree(4, 75), degree(8, 38))
    assert found.tp_degree == 4
    assert reason(found, 2) == "needs 0.0 GB of a GPU's 0.0 GB"
    assert "nothing was measured or predicted" in reason(found, 8)


def test_where_the_memory_is_not_known_a_degree_is_taken_to_fit() -> None:
    steps = {1: measured(100, 101, 102), 2: measured(60, 61, 62)}
    found = chosen(steps, degree(1), degree(2), room=Room(0, 4))
    assert found.tp_degree == 2
    assert all(one.is_possible for one in found.candidates)


def test_what_is_not_possible_is_passed_over_and_says_why() -> None:
    found = chosen(
        {8: predicted(100), 16: predicted(1)},
        degree(4, obstacle="heads"),
        degree(8),
        degree(16),
    )
    assert found.tp_degree == 8
    assert reason(found, 4) == "heads"
    assert "leaves the node of 8 devices" in reason(found, 16)


def test_nothing_possible_recommends_nothing() -> None:
    assert chosen({}, degree(1, 300), degree(2, 150)).tp_degree is None


EVIDENCE = st.builds(predicted, st.floats(1, 1e6), share=st.floats(0, 1), band=st.floats(0, 0.5))


@settings(max_examples=200)
@given(
    st.dictionaries(st.sampled_from([1, 2, 4, 8, 16]), EVIDENCE),
    st.lists(
        st.builds(
            degree,
            st.sampled_from([1, 2, 3, 4, 8, 16]),
            st.integers(1, 200),
            st.sampled_from([None, "does not divide"]),
        ),
        unique_by=lambda one: one.tp_degree,
        max_size=6,
    ),
    st.sampled_from(Objective),
)
def test_never_a_degree_that_does_not_divide_fit_or_stay_within_the_node(
    evidence: dict[int, Evidence], degrees: list[Degree], objective: Objective
) -> None:
    found = choose(
        degrees,
        evidence,
        room=ROOM,
        objective=objective,
        threshold=0.15,
        rng=np.random.default_rng(0),
    )
    possible = {
        one.tp_degree: one
        for one in degrees
        if one.obstacle is None and (one.needed_bytes or 0) <= 80 and one.tp_degree <= 8
    }
    assert (found.tp_degree is None) == (not possible)
    assert found.tp_degree is None or found.tp_degree in possible
    assert [one.degree for one in found.candidates] == sorted(degrees, key=lambda d: d.tp_degree)


@pytest.mark.parametrize("objective", Objective)
def test_the_smallest_possible_degree_needs_no_evidence(objective: Objective) -> None:
    assert chosen({}, objective=objective).tp_degree == 1
