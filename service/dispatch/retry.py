"""Whether a lost trial is tried again. Pure.

Budgets are apart: a host that dies must not use up what a point may cost, nor the other way round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from workers.contract.group_events import Blame, Loss

POINT_ATTEMPTS = 2
"""A point that ended its ranks once is tried once more, in other processes."""
CLUSTER_ATTEMPTS = 10
"""What the cluster does to a trial is not the trial's; but nothing is tried for ever."""
LONGEST_DELAY = timedelta(minutes=1)

_POINT_CODES = frozenset(
    {"shape_mismatch", "rank_aborted", "unexpected_error", "out_of_memory", "numerics_mismatch",
     "collective_count_mismatch", "proof_failed", "result_not_stored"}
)  # fmt: skip
_CLUSTER_CODES = frozenset(
    {
        "no_resources",
        "cluster_error",
        "order_mismatch",
        "worker_error",
        "lease_expired",
        "start_failed",
    }
)
_PATIENT_CODES = frozenset({"host_memory"})
"""Tried once more when nothing else runs there, then final."""


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """What becomes of the trial, and why, for the log."""

    retry: bool
    delay: timedelta
    reason: str


def decide(loss: Loss, *, earlier_codes: Sequence[str], max_attempts: int) -> RetryDecision:
    """Judge one failed attempt. `earlier_codes` are those of the trial's attempts before it."""
    if loss.is_final:
        return RetryDecision(retry=False, delay=timedelta(0), reason="final")
    if loss.code in _PATIENT_CODES:
        count = 1 + sum(code == loss.code for code in earlier_codes)
        return _within(count, budget=POINT_ATTEMPTS, delay=timedelta(0), of=loss.code)
    count = 1 + sum(blame_of(code) is _budget_of(loss.blame) for code in earlier_codes)
    match loss.blame:
        case Blame.POINT:
            return _within(count, budget=POINT_ATTEMPTS, delay=timedelta(0), of="point")
        case Blame.RANK | Blame.HOST:
            return _within(count, budget=max_attempts, delay=timedelta(0), of="rank or host")
        case Blame.CLUSTER:
            delay = min(LONGEST_DELAY, timedelta(seconds=2.0 ** (count - 1)))
            return _within(count, budget=CLUSTER_ATTEMPTS, delay=delay, of="cluster")
        case _:
            assert_never(loss.blame)


def blame_of(code: str) -> Blame:
    """Whose budget an earlier attempt used, from the code that was stored with it."""
    if code in _POINT_CODES:
        return Blame.POINT
    if code in _CLUSTER_CODES:
        return Blame.CLUSTER
    return Blame.RANK


def _budget_of(blame: Blame) -> Blame:
    return Blame.RANK if blame is Blame.HOST else blame


def _within(count: int, *, budget: int, delay: timedelta, of: str) -> RetryDecision:
    return RetryDecision(
        retry=count < budget, delay=delay, reason=f"{count} of {budget} attempts ({of})"
    )
