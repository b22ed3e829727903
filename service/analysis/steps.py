"""Raw steps of a trial as the group saw them: as long as the slowest rank's."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.errors import ServiceError
from workers.contract.axes import Pass
from workers.contract.trial import PassSamples, TrialResult


class EmptyTrialError(ServiceError):
    """A trial without usable samples: a success without numbers is not a success."""

    code = "empty_trial"
    title = "The trial has no samples"


def slowest_ns(ranks: Sequence[PassSamples]) -> tuple[int, ...]:
    """Each step of one pass: the longest over ranks."""
    return tuple(max(steps) for steps in zip(*(rank.step_ns for rank in ranks), strict=True))


def slowest(result: TrialResult, which: Pass) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nanoseconds of each step and of its forward part, both of its slowest rank.

    EmptyTrialError where ranks have none, or not equally many.
    """
    ranks = result.samples.get(which, ())
    lengths = {len(rank.step_ns) for rank in ranks} | {len(rank.forward_ns) for rank in ranks}
    if len(lengths) != 1 or 0 in lengths:
        msg = f"the {which} pass needs the same number of steps, at least 1, on every rank; "
        raise EmptyTrialError(msg + f"found {sorted(lengths)} on {len(ranks)} ranks")
    steps = np.array([rank.step_ns for rank in ranks], dtype=np.int64)
    if steps.min() <= 0:
        raise EmptyTrialError(f"the {which} pass has a step of {steps.min()} ns")
    forward = np.array([rank.forward_ns for rank in ranks], dtype=np.int64)
    at = steps.argmax(axis=0), np.arange(steps.shape[1])
    return steps[at], forward[at]


def compute_ns(result: TrialResult) -> NDArray[np.int64]:
    """Each compute-only step of the slowest rank.

    Ranks that work one after the other do not all at once what they do in turn, on a host whose
    cores or memory they share: of them, what each worked in a step with spans, added up.
    """
    if result.busy_ns:
        return np.array([sum(ranks) for ranks in zip(*result.busy_ns, strict=True)], dtype=np.int64)
    return slowest(result, Pass.COMPUTE)[0]
