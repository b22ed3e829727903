"""A node without peers: only its control tells the host's faults from the software's."""

import pytest

from service.analysis.findings.classify import Cause, classify
from service.analysis.findings.fleet import CaseKind, Fleet, Rollout, Shift

FLEET = Fleet(
    nodes=("a",),
    cases={
        "control": CaseKind.CONTROL,
        "mlp": CaseKind.COMPUTE,
        "reduce": CaseKind.COMMUNICATION,
    },
)


def shift(case: str, normalised: float | None = 0.05, *, night: int = 20) -> Shift:
    return Shift("a", case, night, 0.05, normalised)


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        ([shift("mlp")], Cause.CODE),
        ([shift("mlp", None)], Cause.CODE),
        ([shift("mlp"), shift("reduce")], Cause.CODE),
        ([shift("mlp", 0.01)], Cause.NODE),
        ([shift("mlp"), shift("control", None)], Cause.NODE),
        ([shift("reduce", 0.01)], Cause.LINK),
    ],
)
def test_what_the_control_shows_too_is_not_the_softwares(found: list[Shift], cause: Cause) -> None:
    (finding,) = classify(found, FLEET)
    assert finding.cause == cause
    assert set(finding.shifts) == set(found)


def test_a_new_version_that_night_is_the_likelier_cause() -> None:
    fleet = Fleet(FLEET.nodes, FLEET.cases, (Rollout("a", 20, "torch", "2.14"),))
    (finding,) = classify([shift("mlp")], fleet)
    assert (finding.cause, finding.covariate) == (Cause.ROLL_OUT, "torch 2.14")


def test_cases_that_changed_everywhere_together_are_one_finding() -> None:
    fleet = Fleet(("a", "b", "c"), FLEET.cases)
    found = [Shift(node, case, 20, 0.05) for node in "abc" for case in ("mlp", "reduce")]
    (finding,) = classify(found, fleet)
    assert (finding.cause, finding.cases) == (Cause.CODE, ("mlp", "reduce"))
