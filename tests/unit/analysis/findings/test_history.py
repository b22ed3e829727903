from dataclasses import replace

import pytest

from service.analysis.control import ControlSummary, ControlTime
from service.analysis.findings.fleet import CaseKind, Rollout
from service.analysis.findings.history import (
    SEVERAL_NODES,
    Reading,
    history_of,
    raw_history_of,
)


def reading(
    night: int, node: str = "a", *, step_us: float = 100, gemm_us: float | None = 50
) -> Reading:
    control = None
    if gemm_us is not None:
        time = ControlTime(median_us=gemm_us, min_us=gemm_us, dispersion=0, num_steps=9)
        control = ControlSummary(version=1, gemm=time, collective=None)
    return Reading(night, node, "mlp", 1, step_us, 0.0, control, {"driver": "570"})


def test_a_night_is_the_median_of_its_trials_and_a_missing_one_is_a_gap() -> None:
    history = history_of([reading(0, step_us=us) for us in (90, 100, 300)], num_nights=2)
    control, mlp = history.series
    assert mlp.raw == (100, None)
    assert control.raw == (50, None)
    assert history.fleet.cases == {
        "mlp": CaseKind.COMPUTE,
        "control 1 on 1": CaseKind.CONTROL,
    }


def test_the_hosts_slowness_is_divided_out() -> None:
    slow = reading(1, step_us=120, gemm_us=60)
    (_, mlp) = history_of([reading(0), slow], num_nights=2).series
    assert mlp.raw == (100, 120)
    assert mlp.normalised == pytest.approx((100, 100))


def test_without_a_control_on_every_trial_nothing_is_normalised() -> None:
    history = history_of([reading(0), reading(1, gemm_us=None)], num_nights=2)
    assert [one.normalised for one in history.series if one.case == "mlp"] == [None]


def test_the_raw_history_is_that_part_of_the_whole_one() -> None:
    readings = [reading(night, node, step_us=100 + night) for night in range(3) for node in "ab"]
    readings.append(reading(7, "seldom"))
    raw = raw_history_of(readings, num_nights=9)
    whole = history_of(readings, num_nights=9)
    own = tuple(replace(one, normalised=None) for one in whole.series if one.case == "mlp")
    assert (raw.series, raw.fleet.nodes) == (own, whole.fleet.nodes)
    assert raw.fleet.cases == {"mlp": whole.fleet.cases["mlp"]}


def test_nodes_that_measure_now_and_then_are_one_series() -> None:
    readings = [reading(night, node="abc"[night % 3]) for night in range(9)]
    readings += [reading(night, node="d") for night in range(9)]
    history = history_of(readings, num_nights=9)
    assert history.fleet.nodes == ("d", SEVERAL_NODES)
    (several,) = [one for one in history.series if one.node == SEVERAL_NODES and one.case == "mlp"]
    assert None not in several.raw


def test_a_version_that_was_not_there_the_last_time_is_a_roll_out() -> None:
    updated = [replace(reading(night), versions={"driver": "580"}) for night in (3, 4)]
    history = history_of([reading(0), *updated], num_nights=5)
    assert history.fleet.rollouts == (Rollout("a", 3, "driver", "580"),)


def test_a_roll_out_in_the_middle_of_a_night_is_one_and_of_that_night() -> None:
    updated = [replace(reading(night), versions={"driver": "580"}) for night in (3, 4)]
    history = history_of([reading(0), reading(3), *updated], num_nights=5)
    assert history.fleet.rollouts == (Rollout("a", 3, "driver", "580"),)
