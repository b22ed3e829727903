"""How a trial ends: with a result, with a failure that is tried again or not, or given back."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from service.analysis.steps import EmptyTrialError
from service.errors import LeaseLostError
from service.store import points, queue, results
from service.store.engine import Sessions
from service.store.leases import Lease
from service.store.models.trial import AttemptRow
from service.store.result_filter import ResultFilter
from service.store.states import AttemptOutcome, SweepState, TrialState
from tests.integration.store.builders import (
    FAILURE,
    ONE_TRIAL,
    claimed,
    complete,
    find,
    register,
    result_of,
    submit,
)


def attempts(sessions: Sessions, lease: Lease) -> list[AttemptRow]:
    with sessions.reading() as session:
        rows = session.scalars(
            select(AttemptRow)
            .where(AttemptRow.trial_id == lease.trial_id)
            .order_by(AttemptRow.attempt)
        )
        return list(rows)


def test_infrastructure_failures_are_retried_until_the_budget_is_spent(timed: Sessions) -> None:
    submit(timed, ONE_TRIAL)
    states = []
    for _ in range(3):
        lease = claimed(timed)
        with timed.writing() as session:
            queue.start(session, lease)
            states.append(queue.fail(session, lease, FAILURE, retry=True))
    assert states == [TrialState.QUEUED, TrialState.QUEUED, TrialState.FAILED]


def test_a_final_failure_is_not_retried(timed: Sessions) -> None:
    sweep = submit(timed, ONE_TRIAL)
    lease = claimed(timed)
    with timed.writing() as session:
        final = replace(FAILURE, code="out_of_memory", is_final=True)
        assert queue.fail(session, lease, final, retry=True) is TrialState.FAILED
    assert find(timed, sweep.id).state is SweepState.FAILED


def test_the_cause_of_a_failure_is_kept_with_its_attempt(timed: Sessions) -> None:
    sweep = submit(timed, ONE_TRIAL)
    lease = claimed(timed)
    with timed.writing() as session:
        queue.start(session, lease)
        queue.fail(session, lease, FAILURE, retry=False)
    (row,) = attempts(timed, lease)
    assert row.outcome is AttemptOutcome.FAILED
    assert (row.code, row.rank, row.signal, row.node) == ("rank_lost", 1, 9, "node-1")
    assert row.log_tail == "last words\ufffd and half a ?"
    assert row.started_at is not None
    assert row.ended_at is not None
    with timed.reading() as session:
        (point,) = points.page(session, sweep.id, limit=10).items
    assert point.error is not None
    assert point.error.message == "rank 1 died"


def test_a_released_trial_costs_no_attempt_of_its_budget(timed: Sessions) -> None:
    submit(timed, ONE_TRIAL)
    for attempt in range(1, 6):
        lease = claimed(timed)
        assert lease.attempt == attempt
        with timed.writing() as session:
            assert queue.release(session, lease) is TrialState.QUEUED
    lease = claimed(timed)
    with timed.writing() as session:
        assert queue.fail(session, lease, FAILURE, retry=True) is TrialState.QUEUED
    assert [row.outcome for row in attempts(timed, lease)] == [
        *[AttemptOutcome.RELEASED] * 5,
        AttemptOutcome.FAILED,
    ]


def test_a_result_without_samples_is_refused_and_changes_nothing(timed: Sessions) -> None:
    sweep = submit(timed, ONE_TRIAL)
    register(timed)
    lease = claimed(timed)
    before = find(timed, sweep.id)
    with timed.writing() as session, pytest.raises(EmptyTrialError):
        queue.complete(session, lease, result_of(lease, step_ns=()))
    assert find(timed, sweep.id) == before
    complete(timed, lease)


def test_a_result_and_the_end_of_its_trial_are_one(timed: Sessions) -> None:
    sweep = submit(timed, ONE_TRIAL)
    register(timed)
    lease = claimed(timed)

    class PowerCutError(Exception): ...

    def complete_and_stop() -> None:
        with timed.writing() as session:
            queue.complete(session, lease, result_of(lease))
            raise PowerCutError

    with pytest.raises(PowerCutError):
        complete_and_stop()
    with timed.reading() as session:
        assert results.measured(session, ResultFilter(sweep_ids=(sweep.id,))) == []
    assert find(timed, sweep.id).counts[TrialState.LEASED] == 1
    complete(timed, lease)
    with timed.reading() as session:
        assert len(results.measured(session, ResultFilter(sweep_ids=(sweep.id,)))) == 1


def test_a_trial_can_be_completed_once(timed: Sessions) -> None:
    submit(timed, ONE_TRIAL)
    register(timed)
    lease = claimed(timed)
    complete(timed, lease)
    with timed.writing() as session, pytest.raises(LeaseLostError):
        queue.complete(session, lease, result_of(lease))
