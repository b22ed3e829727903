"""A fleet in which six things go wrong: each is named, and little else is said."""

import numpy as np
import pytest

from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import FindingKind
from service.analysis.findings.nightly import Group, judge_night
from service.analysis.findings.scores import residuals, scores
from tests.unit.analysis.findings import synthetic_fleet as truth
from tests.unit.analysis.findings.synthetic_fleet import NODES, Planted, history_of, planted


@pytest.fixture(scope="module")
def fleet() -> Planted:
    return planted(seed=2)


@pytest.fixture(scope="module")
def findings(fleet: Planted) -> tuple[Group, ...]:
    return judge_night(history_of(fleet)).groups


def levels(cause: Cause, findings: tuple[Group, ...]) -> list[Group]:
    """Confirmed ones."""
    return [
        one
        for one in findings
        if (one.kind, one.cause, one.is_confirmed) == (FindingKind.LEVEL, cause, True)
    ]


def of(kind: FindingKind, findings: tuple[Group, ...]) -> list[Group]:
    return [one for one in findings if one.kind is kind]


def test_a_slow_node_is_one_finding(findings: tuple[Group, ...]) -> None:
    (found,) = levels(Cause.NODE, findings)
    assert found.nodes == (truth.SLOW,)
    assert found.night == pytest.approx(truth.SLOW_FROM, abs=2)
    assert found.effect_relative == pytest.approx(0.06, abs=0.01)


def test_a_bad_link_is_one_finding_and_no_slow_node(findings: tuple[Group, ...]) -> None:
    (found,) = levels(Cause.LINK, findings)
    assert found.nodes == (truth.BAD_LINK,)
    assert len(found.members) == 3


def test_a_change_of_code_is_one_finding_on_all_nodes(findings: tuple[Group, ...]) -> None:
    (found,) = levels(Cause.CODE, findings)
    assert found.cases == (truth.CODE_CASE,)
    assert len(found.nodes) >= 23


def test_a_roll_out_is_blamed_on_the_version(findings: tuple[Group, ...]) -> None:
    (found,) = levels(Cause.ROLL_OUT, findings)
    assert found.covariate == "driver 580.1"
    assert set(found.nodes) == set(truth.UPDATED)
    assert set(found.cases) == set(truth.CHANGED_BY_DRIVER)


def test_a_flaky_node_is_one_finding_with_its_usual_and_its_wild_level(
    findings: tuple[Group, ...],
) -> None:
    (found,) = of(FindingKind.FLAKY, findings)
    assert (found.cause, found.nodes, found.is_confirmed) == (Cause.NODE, (truth.FLAKY,), True)
    assert found.effect_relative == pytest.approx(0.15, abs=0.04)
    for one in found.members:
        assert one.before is not None
        assert one.after is not None
        assert one.after / one.before > 1.04


def test_a_missing_node_is_one_finding_since_its_first_night_and_not_fast(
    findings: tuple[Group, ...],
) -> None:
    (found,) = of(FindingKind.MISSING, findings)
    assert (found.cause, found.nodes, found.is_confirmed) == (Cause.NODE, (truth.MISSING,), True)
    assert found.night == truth.MISSING_FROM
    assert len(found.cases) == 9
    assert not any(truth.MISSING in one.nodes for one in levels(Cause.NODE, findings))


def test_little_is_left_unexplained(findings: tuple[Group, ...]) -> None:
    rest = [one for one in findings if one.is_confirmed and one.cause is Cause.UNEXPLAINED]
    assert len(rest) <= 3
    assert not any(truth.FLAKY in one.nodes for one in rest), "that it is flaky explains it"
    assert levels(Cause.METHOD, findings) == []


def test_the_slow_node_stands_out_within_three_nights_and_the_bad_link_by_its_links(
    fleet: Planted,
) -> None:
    left = residuals(fleet.times)
    of_node = scores(left, range(10)).stands_out()
    of_links = scores(left, range(7, 10)).stands_out()
    slow, bad = NODES.index(truth.SLOW), NODES.index(truth.BAD_LINK)
    assert np.flatnonzero(of_node[slow])[0] <= truth.SLOW_FROM + 3
    assert np.flatnonzero(of_links[bad])[0] <= truth.LINK_FROM + 3
    others = [i for i in range(24) if NODES[i] not in {truth.SLOW, truth.BAD_LINK, truth.FLAKY}]
    assert not of_node[others, : truth.UPDATED_FROM].any()
