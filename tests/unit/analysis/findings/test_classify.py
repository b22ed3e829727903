from itertools import product

import pytest

from service.analysis.findings.classify import Cause, classify
from service.analysis.findings.fleet import CaseKind, Fleet, Rollout, Shift

NODES = tuple("abcdef")
CASES = {
    "gemm": CaseKind.CONTROL,
    "mlp": CaseKind.COMPUTE,
    "attention": CaseKind.COMPUTE,
    "reduce": CaseKind.COMMUNICATION,
    "gather": CaseKind.COMMUNICATION,
}
FLEET = Fleet(nodes=NODES, cases=CASES)


def shifts(nodes: str, cases: str, *, night: int = 20, effect: float = 0.05) -> list[Shift]:
    return [Shift(node, case, night, effect) for node, case in product(nodes, cases.split())]


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (shifts("abcde", "mlp"), Cause.CODE),
        (shifts("b", "gemm mlp attention reduce"), Cause.NODE),
        (shifts("b", "reduce gather"), Cause.LINK),
        (shifts("abcdef", "gemm mlp attention"), Cause.METHOD),
        (shifts("b", "mlp"), Cause.UNEXPLAINED),
    ],
)
def test_where_changes_appear_says_their_cause(found: list[Shift], cause: Cause) -> None:
    (finding,) = classify(found, FLEET)
    assert finding.cause == cause
    assert len(finding.shifts) == len(found)


def test_no_changes_are_no_findings() -> None:
    assert classify([], FLEET) == ()


def test_a_staggered_roll_out_is_one_finding_with_its_version() -> None:
    rollouts = tuple(Rollout(node, 20 + 5 * i, "driver", "580") for i, node in enumerate("abc"))
    found = [s for r in rollouts for s in shifts(r.node, "mlp reduce", night=r.night + 1)]
    (finding,) = classify(found, Fleet(NODES, CASES, rollouts))
    assert (finding.cause, finding.covariate) == (Cause.ROLL_OUT, "driver 580")
    assert finding.nodes == ("a", "b", "c")


def test_what_changed_on_the_other_nodes_too_is_not_the_roll_outs_fault() -> None:
    rollouts = tuple(Rollout(node, 20, "driver", "580") for node in "abc")
    (finding,) = classify(shifts("abcdef", "mlp"), Fleet(NODES, CASES, rollouts))
    assert finding.cause == Cause.CODE


def test_a_roll_out_at_another_time_explains_nothing() -> None:
    fleet = Fleet(NODES, CASES, (Rollout("b", 40, "driver", "580"),))
    (finding,) = classify(shifts("b", "gemm mlp attention"), fleet)
    assert finding.cause == Cause.NODE


def test_two_events_on_one_night_are_told_apart() -> None:
    found = [*shifts("abcdef", "mlp"), *shifts("b", "reduce gather", effect=0.2)]
    causes = {finding.cause: finding for finding in classify(found, FLEET)}
    assert causes.keys() == {Cause.CODE, Cause.LINK}
    assert causes[Cause.LINK].effect_relative == 0.2


def test_opposite_directions_are_different_events() -> None:
    found = [*shifts("abcd", "mlp"), *shifts("abcd", "mlp", night=40, effect=-0.05)]
    first, second = classify(found, FLEET)
    assert (first.night, second.night) == (20, 40)
    assert (first.effect_relative, second.effect_relative) == (0.05, -0.05)


def test_every_change_is_in_exactly_one_finding() -> None:
    found = [*shifts("abcdef", "mlp"), *shifts("ab", "gemm attention"), *shifts("c", "gather")]
    assert sum(len(finding.shifts) for finding in classify(found, FLEET)) == len(found)
