"""Intervals over re-formed groups beside those over fresh processes."""

from dataclasses import replace

import pytest

from service.reports.groups import report
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import measured_trial
from workers.contract.axes import GroupKind


def trials(kind: GroupKind, *steps_us: float) -> list[MeasuredTrial]:
    return [
        replace(
            measured_trial(point(), sweep_id=kind, replicate=replicate, step_us=us),
            group_kind=kind,
        )
        for replicate, us in enumerate(steps_us)
    ]


def test_warm_processes_that_agree_about_the_wrong_value_are_found_out() -> None:
    found = report(
        trials(GroupKind.FRESH, 100, 130, 160) + trials(GroupKind.REGROUPED, 100, 101, 102)
    )
    (only,) = found.points
    assert only.width_ratio < 0.1
    assert not only.holds_fresh_median
    assert (only.fresh.median, only.regrouped.median) == (130, 101)
    assert "holds the fresh median at 0 of 1 points" in found.sentence


def test_kinds_that_agree_have_the_same_width() -> None:
    found = report(trials(GroupKind.FRESH, 99, 101) + trials(GroupKind.REGROUPED, 99, 101))
    assert found.width_ratio == pytest.approx(1)
    assert found.num_holding == 1


def test_one_replicate_has_no_interval_to_compare() -> None:
    found = report(trials(GroupKind.FRESH, 99, 101) + trials(GroupKind.REGROUPED, 99))
    assert (found.points, found.width_ratio) == ((), None)
    assert "no point has two replicates" in found.sentence
