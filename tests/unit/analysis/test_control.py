"""The noise grade, and how much of a step's change is the host's."""

from math import exp

import pytest

from service.analysis.control import (
    ControlSummary,
    ControlTime,
    NoiseGrade,
    control_time,
    noise,
    reference,
    slowdown,
)


def time(median_us: float, *, min_us: float | None = None, dispersion: float = 0) -> ControlTime:
    smallest = median_us if min_us is None else min_us
    return ControlTime(median_us=median_us, min_us=smallest, dispersion=dispersion, num_steps=9)


def control(
    gemm: ControlTime, collective: ControlTime | None = None, *, version: int = 1
) -> ControlSummary:
    return ControlSummary(version=version, gemm=gemm, collective=collective)


def test_a_pass_is_summarised_by_its_middle_half() -> None:
    found = control_time([100_000, 110_000, 120_000, 130_000, 900_000])
    assert (found.median_us, found.min_us, found.num_steps) == (120, 100, 5)
    assert found.dispersion == pytest.approx(20 / 120)


@pytest.mark.parametrize(
    ("dispersion", "grade"),
    [(0.1, NoiseGrade.A), (0.11, NoiseGrade.B), (0.3, NoiseGrade.C), (0.51, NoiseGrade.D)],
)
def test_steps_of_one_trial_that_differ_lower_the_grade(
    dispersion: float, grade: NoiseGrade
) -> None:
    found = noise([control(time(100, dispersion=dispersion))])
    assert (found.grade, found.within, found.between) == (grade, dispersion, None)


def test_trials_that_differ_lower_the_grade_though_each_is_steady() -> None:
    found = noise([control(time(100)), control(time(100 * exp(0.4)))])
    assert found.between == pytest.approx(1.349 * 0.4 / 2**0.5)
    assert found.grade is NoiseGrade.C


def test_the_noisier_control_pass_decides() -> None:
    assert noise([control(time(100), time(400, dispersion=0.6))]).grade is NoiseGrade.D


def test_a_host_that_slows_everything_is_taken_out_of_the_step() -> None:
    quiet = reference([control(time(120, min_us=100), time(900, min_us=500))])
    assert quiet is not None
    slow = control(time(150), time(750))
    for share in (0.0, 0.4, 1.0):
        assert slowdown(slow, quiet, communication_share=share) == pytest.approx(1.5)


def test_each_part_of_the_step_is_judged_by_its_own_control() -> None:
    quiet = reference([control(time(100), time(500))])
    assert quiet is not None
    slow_wire = control(time(100), time(1000))
    assert slowdown(slow_wire, quiet, communication_share=0) == pytest.approx(1)
    assert slowdown(slow_wire, quiet, communication_share=0.5) == pytest.approx(2**0.5)
    assert slowdown(slow_wire, quiet, communication_share=7) == pytest.approx(2), "noise in c"


def test_controls_of_different_definitions_have_no_common_reference() -> None:
    assert reference([control(time(1)), control(time(1), version=2)]) is None


def test_controls_of_which_some_timed_no_collective_are_compared_by_their_products() -> None:
    quiet = reference([control(time(100)), control(time(120), time(500))])
    assert quiet is not None
    assert (quiet.gemm_us, quiet.collective_us) == (100, None)
    for slow in (control(time(150)), control(time(150), time(9000))):
        assert slowdown(slow, quiet, communication_share=0.5) == pytest.approx(1.5)
