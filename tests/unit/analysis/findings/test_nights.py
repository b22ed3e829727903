"""One event over the nights that follow it: told once, and then followed."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from service.analysis.findings.classify import Cause
from service.analysis.findings.history import Reading, history_of
from service.analysis.findings.nightly import judge_night
from service.analysis.findings.states import FindingState
from service.analysis.findings.tracking import Known, Step, track

NUM_NIGHTS, CHANGED = 40, 30
TRIALS = 3
OLD = {"cuda": "12", "nccl": "2.28", "torch": "2.10"}
NEW = {"cuda": "13", "nccl": "2.29", "torch": "2.11"}


def upgraded(num_old: int, nodes: str) -> Iterator[Reading]:
    """All nodes slower by a tenth with new versions; the first night has so many old trials yet."""
    rng = np.random.default_rng(1)
    for night in range(NUM_NIGHTS):
        for node in nodes:
            for case, share in (("mlp", 0.0), ("reduce", 0.5)):
                for trial in range(TRIALS):
                    is_new = night > CHANGED or (night == CHANGED and trial >= num_old)
                    yield Reading(
                        night=night,
                        node=node,
                        case=case,
                        num_ranks=2,
                        step_time_us=100 * (1.1 if is_new else 1) * rng.normal(1, 0.003),
                        communication_share=share,
                        control=None,
                        versions=NEW if is_new else OLD,
                    )


def after(step: Step, before: Known | None, night: int) -> Known:
    """The finding as the next night knows it."""
    if before is not None and step.group is None:
        return replace(before, state=step.state, dismissal=step.dismissal)
    assert step.group is not None
    return Known(
        id=before.id if before else f"begun on {night} as {step.group.covariate}",
        kind=step.group.kind,
        state=step.state,
        dismissal=step.dismissal,
        was_confirmed=step.group.is_confirmed,
        night=step.group.night,
        seen=night,
        is_slower=step.group.is_slower,
        places=step.group.places,
    )


@pytest.mark.parametrize("nodes", ["a", "abcd"])
@pytest.mark.parametrize("num_old", range(TRIALS))
def test_an_upgrade_of_several_versions_is_told_once_and_begins_no_other_finding(
    num_old: int, nodes: str
) -> None:
    readings = list(upgraded(num_old, nodes))
    known: dict[str | None, Known] = {}
    for night in range(CHANGED, NUM_NIGHTS):
        seen = [one for one in readings if one.night <= night]
        groups = judge_night(history_of(seen, num_nights=night + 1)).groups
        for step in track(groups, list(known.values()), num_nights=night + 1):
            found = after(step, known.get(step.id), night)
            known[found.id] = found
    (only,) = known.values()
    assert only.state is FindingState.CONFIRMED
    (group,) = groups
    assert (group.cause, group.covariate) == (Cause.ROLL_OUT, "cuda 13, nccl 2.29, torch 2.11")
    assert only.places == group.places
