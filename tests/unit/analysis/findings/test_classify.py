from collections import Counter
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


def rolled_out(nodes: str, *covariates: str, night: int = 20) -> list[Rollout]:
    return [Rollout(node, night, name, "2") for name in covariates for node in nodes]


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


@pytest.mark.parametrize("nodes", ["abc", "abcdef"])
def test_versions_that_came_together_are_one_roll_out_that_names_them_all(nodes: str) -> None:
    rollouts = rolled_out(nodes, "torch", "cuda", "nccl")
    (finding,) = classify(shifts(nodes, "mlp reduce"), Fleet(NODES, CASES, tuple(rollouts)))
    assert (finding.cause, finding.covariate) == (Cause.ROLL_OUT, "cuda 2, nccl 2, torch 2")


def test_versions_that_came_together_to_a_node_without_peers_are_one_roll_out() -> None:
    fleet = Fleet(("a",), CASES, tuple(rolled_out("a", "torch", "cuda")))
    (finding,) = classify(shifts("a", "mlp reduce"), fleet)
    assert (finding.cause, finding.covariate) == (Cause.ROLL_OUT, "cuda 2, torch 2")


def test_of_two_roll_outs_the_one_that_explains_more_takes_what_both_do() -> None:
    rollouts = rolled_out("ab", "cuda") + rolled_out("abc", "torch")
    (finding,) = classify(shifts("abc", "mlp"), Fleet(NODES, CASES, tuple(rollouts)))
    assert (finding.covariate, finding.nodes) == ("torch 2", ("a", "b", "c"))
    rollouts = rolled_out("abc", "torch", night=20) + rolled_out("abc", "nccl", night=23)
    found = [
        *shifts("abc", "attention reduce", night=19),
        *shifts("abc", "mlp", night=22),
        *shifts("abc", "gather", night=25),
    ]
    wide, narrow = classify(found, Fleet(NODES, CASES, tuple(rollouts)))
    assert (wide.covariate, wide.cases) == ("torch 2", ("attention", "mlp", "reduce"))
    assert (narrow.covariate, narrow.cases) == ("nccl 2", ("gather",))


TWO_CHANGES_OF_METHOD = [
    *shifts("abcdef", "gemm", night=20),
    *shifts("bc", "mlp", night=21),
    *shifts("bc", "attention", night=22),
    *shifts("abcdef", "gemm", night=23),
]


def test_a_change_between_two_changes_of_method_is_told_with_one_of_them() -> None:
    first, second = classify(TWO_CHANGES_OF_METHOD, FLEET)
    assert (first.cause, second.cause) == (Cause.METHOD, Cause.METHOD)
    assert first.cases == ("attention", "gemm", "mlp")
    assert second.cases == ("gemm",)


NIGHT = st.integers(17, 25)


@example(shifts("abc", "mlp reduce"), rolled_out("abc", "torch", "cuda", "nccl"), NODES)
@example(shifts("a", "mlp reduce"), rolled_out("a", "torch", "cuda"), NODES[:1])
@example(shifts("abc", "mlp"), rolled_out("ab", "cuda") + rolled_out("abc", "torch"), NODES)
@example(TWO_CHANGES_OF_METHOD, [], NODES)
@example(
    [*shifts("abcdef", "mlp"), *shifts("ab", "gemm attention"), *shifts("c", "gather")], [], NODES
)
@given(
    found=st.lists(
        st.builds(
            Shift,
            st.sampled_from(NODES),
            st.sampled_from([*CASES]),
            NIGHT,
            st.sampled_from([-0.05, 0.05]),
        )
    ),
    rollouts=st.lists(
        st.builds(
            Rollout,
            st.sampled_from(NODES),
            NIGHT,
            st.sampled_from(["cuda", "nccl", "torch"]),
            st.just("2"),
        )
    ),
    nodes=st.sampled_from([NODES, NODES[:1]]),
)
def test_every_change_is_in_exactly_one_finding(
    found: list[Shift], rollouts: list[Rollout], nodes: tuple[str, ...]
) -> None:
    findings = classify(found, Fleet(nodes, CASES, tuple(rollouts)))
    told = Counter(shift for finding in findings for shift in finding.shifts)
    assert told == Counter({*found})
