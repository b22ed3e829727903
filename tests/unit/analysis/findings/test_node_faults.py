"""Nodes that are flaky or missing, told against their peers."""

import numpy as np
import pytest

from service.analysis.changepoints.robust import Values
from service.analysis.findings.absence import absences
from service.analysis.findings.evidence import FindingKind
from service.analysis.findings.fleet import CaseKind, Fleet
from service.analysis.findings.history import CaseSeries, History
from service.analysis.findings.nightly import Group, judge_night
from service.analysis.findings.scores import residuals, unsteadiness

CASES = ("mlp", "reduce")
NIGHTS = 40


def steady(num_nodes: int, *, cv: float = 0.005) -> Values:
    """Times of nodes by cases by nights."""
    rng = np.random.default_rng(11)
    return np.asarray(100 * (1 + cv * rng.standard_normal((num_nodes, len(CASES), NIGHTS))))


def judged(times: Values, kind: FindingKind) -> list[Group]:
    nodes = tuple(f"host{i}" for i in range(len(times)))
    series = tuple(
        CaseSeries(node, case, tuple(None if np.isnan(x) else x for x in row.tolist()), None)
        for node, rows in zip(nodes, times, strict=True)
        for case, row in zip(CASES, rows, strict=True)
    )
    fleet = Fleet(nodes, dict.fromkeys(CASES, CaseKind.COMPUTE))
    found = judge_night(History(times.shape[2], series, fleet))
    assert not found.suspect_cases, "what is gone cannot be measured again"
    return [one for one in found.groups if one.kind is kind]


@pytest.mark.parametrize(("nights_gone", "is_confirmed"), [(1, False), (2, True)])
def test_a_node_that_was_always_there_is_suspect_at_once_and_soon_confirmed(
    nights_gone: int, *, is_confirmed: bool
) -> None:
    times = steady(6)
    times[2, :, NIGHTS - nights_gone :] = np.nan
    (found,) = judged(times, FindingKind.MISSING)
    assert (found.nodes, found.night) == (("host2",), NIGHTS - nights_gone)
    assert found.is_confirmed is is_confirmed
    assert {one.num_after for one in found.members} == {nights_gone}


def test_nodes_that_went_together_are_one_finding() -> None:
    times = steady(6)
    times[2:4, :, 30:] = np.nan
    (found,) = judged(times, FindingKind.MISSING)
    assert found.nodes == ("host2", "host3")


def test_a_node_that_often_stays_away_is_not_missing_at_once() -> None:
    times = steady(6)
    times[2, :, 1:-4:3] = np.nan
    times[2, :, -1:] = np.nan
    assert judged(times, FindingKind.MISSING) == []
    assert absences(times)[2] is not None, "the fleet's view says so all the same"


def test_nights_that_nobody_measured_say_nothing_of_anybody() -> None:
    times = steady(6)
    times[:, :, 35:] = np.nan
    assert judged(times, FindingKind.MISSING) == []
    assert set(absences(times)) == {None}


def test_a_fleet_of_noisy_nodes_has_no_flaky_one() -> None:
    assert judged(steady(6, cv=0.03), FindingKind.FLAKY) == []


@pytest.mark.parametrize("num_nights", [1, 2])
def test_a_bad_night_or_two_do_not_make_a_node_flaky(num_nights: int) -> None:
    times = steady(6)
    times[0, :, 25 : 25 + 4 * num_nights : 4] *= 1.2
    assert judged(times, FindingKind.FLAKY) == []


def test_a_node_that_is_wild_now_and_then_is_flaky_until_it_has_been_steady_for_long() -> None:
    times = steady(6)
    times[0, :, 2:15:3] *= 1.2
    (found,) = judged(times[:, :, :25], FindingKind.FLAKY)
    assert (found.nodes, found.cases, found.night) == (("host0",), CASES, 2)
    assert found.effect_relative == pytest.approx(0.2, abs=0.01)
    assert judged(times, FindingKind.FLAKY) == []


def test_without_peers_a_node_is_told_from_its_night_by_nothing() -> None:
    times = steady(4)
    times[0, :, 15:38:3] *= 1.2
    times[1, :, 35:] = np.nan
    assert judged(times, FindingKind.FLAKY) == []
    assert np.isnan(unsteadiness(residuals(times)).p).all()
