import numpy as np
import pytest

from service.analysis.findings.classify import Cause, Finding, classify
from service.analysis.findings.scores import flaky, missing_since, residuals, scores
from tests.unit.analysis.findings import synthetic_fleet as truth
from tests.unit.analysis.findings.synthetic_fleet import NODES, Planted, planted, shifts_of


@pytest.fixture(scope="module")
def fleet() -> Planted:
    return planted(seed=1)


@pytest.fixture(scope="module")
def findings(fleet: Planted) -> tuple[Finding, ...]:
    return classify(shifts_of(fleet), fleet.fleet)


def of(cause: Cause, findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.cause == cause]


def test_a_slow_node_is_one_finding(findings: tuple[Finding, ...]) -> None:
    (found,) = of(Cause.NODE, findings)
    assert found.nodes == (truth.SLOW,)
    assert found.night == pytest.approx(truth.SLOW_FROM, abs=2)
    assert found.effect_relative == pytest.approx(0.06, abs=0.01)


def test_a_bad_link_is_one_finding_and_no_slow_node(findings: tuple[Finding, ...]) -> None:
    (found,) = of(Cause.LINK, findings)
    assert found.nodes == (truth.BAD_LINK,)
    assert found.num_shifts == 3


def test_a_change_of_code_is_one_finding_on_all_nodes(findings: tuple[Finding, ...]) -> None:
    (found,) = of(Cause.CODE, findings)
    assert found.cases == (truth.CODE_CASE,)
    assert len(found.nodes) >= 23


def test_a_roll_out_is_blamed_on_the_version(findings: tuple[Finding, ...]) -> None:
    (found,) = of(Cause.ROLL_OUT, findings)
    assert found.covariate == "driver 580.1"
    assert set(found.nodes) == set(truth.UPDATED)
    assert set(found.cases) == set(truth.CHANGED_BY_DRIVER)


def test_little_is_left_unexplained(findings: tuple[Finding, ...]) -> None:
    assert len(of(Cause.UNEXPLAINED, findings)) <= 3
    assert of(Cause.METHOD, findings) == []


def test_the_flaky_node_is_named_and_no_other(fleet: Planted) -> None:
    is_flaky = flaky(residuals(fleet.times))
    assert [NODES[i] for i in np.flatnonzero(is_flaky)] == [truth.FLAKY]


def test_the_missing_node_is_missing_and_not_fast(fleet: Planted) -> None:
    since = dict(zip(NODES, missing_since(fleet.times), strict=True))
    assert since.pop(truth.MISSING) == truth.MISSING_FROM
    assert set(since.values()) == {None}


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
