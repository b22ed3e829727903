"""The control in a result."""

import pytest

from service.reports.results import report
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import measured_trial, with_control

SPEC = point(tp_degree=2)


def test_a_step_that_is_as_slow_as_its_control_is_no_slower_once_normalised() -> None:
    trials = [
        with_control(
            measured_trial(SPEC, replicate=r, step_us=100 * slow, compute_us=70 * slow),
            200 * slow,
            400 * slow,
        )
        for r, slow in enumerate([1, 1.3, 1.9])
    ]
    result = report(trials)
    assert result.control is not None
    normalised = result.control.normalised_step_time_us
    assert normalised is not None
    assert (normalised.ci_low, normalised.median, normalised.ci_high) == pytest.approx(
        (100, 100, 100)
    )
    assert result.step_time_us.median == 130
    assert (result.control.gemm_time_us, result.control.collective_time_us) == (260, 520)


def test_a_noisy_host_is_flagged_in_plain_words() -> None:
    quiet = report([with_control(measured_trial(SPEC), 200, 400, dispersion=0.2)])
    noisy = report([with_control(measured_trial(SPEC), 200, 400, dispersion=0.3)])
    assert quiet.control is not None
    assert quiet.control.noise_grade == "B"
    assert "noisy_host" not in quiet.quality
    assert "noisy_host" in noisy.quality
    assert any("something else used the host" in note for note in noisy.quality_notes)


def test_a_result_of_before_there_was_a_control_has_none() -> None:
    trials = [with_control(measured_trial(SPEC), 200, 400), measured_trial(SPEC, replicate=1)]
    assert report(trials).control is None
