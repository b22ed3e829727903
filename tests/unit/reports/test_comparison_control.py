"""Two nights on one host: what the control says of the host is not laid to the point."""

from collections.abc import Sequence

import pytest

from service.reports.compared import ComparisonReport
from service.reports.comparison import report
from service.reports.sentences import could_be_found
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import measured_trial, with_control

SPEC = point(tp_degree=2)
STEPS = (99.0, 100.0, 101.0, 100.5)


def night(
    name: str, *, slow: float = 1, host: float = 1, control: Sequence[float] = (1, 1, 1, 1)
) -> list[MeasuredTrial]:
    """A point so slow on a host so slow, with a control that varies by these factors."""
    return [
        with_control(
            measured_trial(
                SPEC,
                sweep_id=name,
                replicate=replicate,
                step_us=us * slow * host,
                compute_us=us * slow * host * 0.7,
            ),
            200 * host * factor,
            400 * host * factor,
        )
        for replicate, (us, factor) in enumerate(zip(STEPS, control, strict=True))
    ]


def compared(before: Sequence[MeasuredTrial], after: Sequence[MeasuredTrial]) -> ComparisonReport:
    return report(before, after, baseline_name="a", candidate_name="b")


def test_a_point_that_is_slower_while_the_host_is_not_is_slower() -> None:
    (found,) = compared(night("a"), night("b", slow=1.2)).points
    assert found.verdict == "slower"
    assert found.normalised_ratio == pytest.approx(found.ratio) == pytest.approx(1.2)


def test_a_host_that_is_slower_is_not_taken_for_a_slower_point() -> None:
    told = compared(night("a"), night("b", host=1.2))
    (found,) = told.points
    assert found.ratio == pytest.approx(1.2)
    assert found.normalised_ratio == pytest.approx(1)
    assert found.verdict == "inconclusive"
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < 1, "the interval holds what is left without the host"
    assert found.ci_high > 1.2, "and what was measured"
    assert "the host alone, as the control shows it, changed by a factor of 1.20" in told.sentence


def test_a_change_that_a_slow_host_hides_is_not_called_the_same() -> None:
    (found,) = compared(night("a", slow=1.3, host=1), night("b", host=1.3)).points
    assert found.ratio == pytest.approx(1)
    assert found.verdict == "inconclusive"


def test_a_control_too_noisy_to_tell_widens_the_interval() -> None:
    steady = compared(night("a"), night("b")).points[0]
    noisy = compared(night("a"), night("b", control=(1, 1.4, 2, 1.2))).points[0]
    assert (steady.verdict, noisy.verdict) == ("same", "inconclusive")
    assert steady.detectable is not None
    assert noisy.detectable is not None
    assert noisy.detectable > 2 * steady.detectable


def test_what_would_have_been_found_is_said_where_nothing_was() -> None:
    told = compared(night("a"), night("b", control=(1, 1.1, 0.9, 1.1)))
    assert told.overall is not None
    assert told.overall.detectable is not None
    size = could_be_found(told.overall.detectable)
    assert (size in told.sentence) == (told.overall.verdict == "inconclusive")


def test_results_without_a_control_are_compared_as_they_are_and_it_says_so() -> None:
    old = [
        measured_trial(SPEC, sweep_id="a", replicate=r, step_us=us) for r, us in enumerate(STEPS)
    ]
    told = compared(old, night("b", slow=1.2))
    (found,) = told.points
    assert (found.verdict, found.normalised_ratio) == ("slower", None)
    assert "without a control on both sides" in told.sentence
