"""Real series of other projects, and those of their unit tests."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.analysis.changepoints.detector import detect, replay

FOLDER = Path(__file__).parents[3] / "cases" / "series"
FEWEST = 12


@dataclass(frozen=True)
class Case:
    values: Sequence[float | None]
    change_points: list[int] | None
    outliers: list[int] | None


def cases_of(name: str) -> dict[str, Case]:
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {
        item["id"]: Case(item["values"], item.get("change_points"), item.get("outliers"))
        for item in document["series"]
    }


UNIT_TESTS = {
    name: case for name, case in cases_of("unit_test_series").items() if len(case.values) >= FEWEST
}
OUTLIERS = {
    **cases_of("conbench_outliers"),
    **{
        name: case
        for name, case in cases_of("mongodb_spa").items()
        if name in {"mongodb/real_series", "mongodb/mad_series"}
    },
}
TIGERBEETLE = cases_of("tigerbeetle")["tigerbeetle/load_accepted_363"]


@pytest.mark.parametrize("name", UNIT_TESTS)
def test_changes_of_other_projects_unit_tests_are_found(name: str) -> None:
    case = UNIT_TESTS[name]
    assert [point.index for point in detect(case.values).change_points] == case.change_points


@pytest.mark.parametrize("name", OUTLIERS)
def test_outliers_are_no_changes(name: str) -> None:
    verdict = detect(OUTLIERS[name].values)
    assert verdict.change_points == ()
    assert verdict.drift is None
    assert {spike.index for spike in verdict.spikes} >= set(OUTLIERS[name].outliers or ())


@pytest.mark.parametrize("name", sorted(set(OUTLIERS) - {"mongodb/mad_series"}))
def test_outliers_are_no_changes_on_any_night(name: str) -> None:
    assert replay(OUTLIERS[name].values).change_points == ()


def test_changes_of_tigerbeetle_are_found_and_its_outlier_is_none() -> None:
    verdict = detect(TIGERBEETLE.values)
    found = [point.index for point in verdict.change_points]
    assert set(found) >= {15, 71, 95}
    assert not set(range(8, 13)) & set(found)
    assert 10 in [spike.index for spike in verdict.spikes]


def test_first_change_of_tigerbeetle_is_told_by_the_twentieth_night() -> None:
    (point,) = replay(TIGERBEETLE.values[:40]).change_points
    assert point.index == 15
    assert point.reported_night is not None
    assert point.reported_night < 20


def test_a_series_below_twelve_nights_is_not_judged() -> None:
    for case in cases_of("unit_test_series").values():
        if len(case.values) < FEWEST:
            assert detect(case.values).outcome == "insufficient_data"
