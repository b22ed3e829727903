"""A lease is fenced by its attempt number and ends by the database's clock."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from service.analysis.summary import EmptyTrialError
from service.errors import ConflictError, LeaseLostError
from service.store import points, queue, results, sweeps
from service.store.engine import Sessions
from service.store.leases import Failure, Lease
from service.store.models.trial import AttemptRow
from service.store.result_filter import ResultFilter
from service.store.states import AttemptOutcome, PointState, SweepState, TrialState
from tests.integration.store.builders import (
    TTL,
    FakeClock,
    claim,
    claimed,
    complete,
    find,
    register,
    result_of,
    submit,
    sweep_spec,
)

FAILURE = Failure(
    code="rank_lost",
    message="rank 1 died",
    rank=1,
    signal=9,
    node="node-1",
    log_tail="last words\0 and half a \ud83d",
)
ONE_TRIAL = sweep_spec(batches=1, degrees=(2,))


def attempts(sessions: Sessions, lease: Lease) -> list[AttemptRow]:
    with sessions.reading() as session:
        rows = session.scalars(
            select(AttemptRow)
            .where(AttemptRow.trial_id == lease.trial_id)
            .order_by(AttemptRow.attempt)
        )
        return list(rows)


def recover(sessions: Sessions) -> list[TrialState]:
    with sessions.writing() as session:
        return [recovered.state for recovered in queue.recover_expired(session)]


@pytest.mark.parametrize(
    "use",
    [
        queue.start,
        lambda session, lease: queue.complete(session, lease, result_of(lease)),
        lambda session, lease: queue.fail(session, lease, FAILURE, retry=True),
        queue.release,
    ],
    ids=["start", "complete", "fail", "release"],
)
def test_a_stale_attempt_changes_nothing(
    timed: Sessions, clock: FakeClock, use: Callable[[Session, Lease], object]
) -> None:
    sweep = submit(timed, ONE_TRIAL)
    register(timed)
    stale = claimed(timed, owner="paused")
    clock.advance(31)
    recover(timed)
    held = claimed(timed, owner="successor")
    before = find(timed, sweep.id)
    with timed.writing() as session:
        with pytest.raises(LeaseLostError, match="attempt 1"):
            use(session, stale)
        assert queue.heartbeat(session, [stale, held], ttl=TTL) == [stale]
    assert find(timed, sweep.id) == before
    complete(timed, held)
    assert find(timed, sweep.id).state is SweepState.SUCCEEDED


def test_a_lease_that_is_renewed_does_not_expire(timed: Sessions, clock: FakeClock) -> None:
    submit(timed, ONE_TRIAL)
    lease = claimed(timed)
    for _ in range(5):
        clock.advance(29)
        with timed.writing() as session:
            assert queue.heartbeat(session, [lease], ttl=TTL) == []
        assert recover(timed) == []
    clock.advance(30)
    assert recover(timed) == [TrialState.QUEUED]


def test_a_stale_attempt_does_not_renew_its_successor_s_lease(
    timed: Sessions, clock: FakeClock
) -> None:
    submit(timed, ONE_TRIAL)
    stale = claimed(timed, owner="paused")
    clock.advance(31)
    recover(timed)
    claimed(timed, owner="successor")
    clock.advance(29)
    with timed.writing() as session:
        assert queue.heartbeat(session, [stale], ttl=TTL) == [stale]
    clock.advance(1)
    assert recover(timed) == [TrialState.QUEUED]


def test_a_lease_that_ran_out_cannot_be_renewed_even_if_nobody_took_it(
    timed: Sessions, clock: FakeClock
) -> None:
    submit(timed, ONE_TRIAL)
    lease = claimed(timed)
    clock.advance(30)
    with timed.writing() as session:
        assert queue.heartbeat(session, [lease], ttl=TTL) == [lease]


def test_a_result_that_comes_late_still_counts_while_nobody_else_has_the_trial(
    timed: Sessions, clock: FakeClock
) -> None:
    sweep = submit(timed, ONE_TRIAL)
    register(timed)
    lease = claimed(timed)
    clock.advance(300)
    complete(timed, lease)
    assert find(timed, sweep.id).state is SweepState.SUCCEEDED


def test_a_trial_that_kills_its_runner_fails_after_three_attempts(
    timed: Sessions, clock: FakeClock
) -> None:
    sweep = submit(timed, ONE_TRIAL)
    outcomes = []
    for attempt in range(1, 4):
        assert claimed(timed, owner=f"dispatcher-{attempt}").attempt == attempt
        clock.advance(31)
        outcomes += recover(timed)
    assert outcomes == [TrialState.QUEUED, TrialState.QUEUED, TrialState.FAILED]
    assert claim(timed) is None
    found = find(timed, sweep.id)
    assert (found.state, found.num_done) == (SweepState.FAILED, 1)
    with timed.reading() as session:
        (point,) = points.page(session, sweep.id, limit=10).items
    assert point.state is PointState.FAILED
    assert point.num_attempts == 3
    assert point.error is not None
    assert (point.error.code, point.error.attempt) == ("lease_expired", 3)
    assert "dispatcher-3" in point.error.message


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


def test_the_database_s_own_clock_ends_leases(sessions: Sessions) -> None:
    submit(sessions, ONE_TRIAL)
    lease = claim(sessions, ttl=timedelta(milliseconds=-1))
    assert lease is not None
    with sessions.writing() as session:
        assert queue.heartbeat(session, [lease], ttl=TTL) == [lease]
    assert recover(sessions) == [TrialState.QUEUED]
    renewed = claimed(sessions)
    with sessions.writing() as session:
        assert queue.heartbeat(session, [renewed], ttl=TTL) == []
    assert recover(sessions) == []


def test_a_heartbeat_of_nothing_loses_nothing(sessions: Sessions) -> None:
    with sessions.writing() as session:
        assert queue.heartbeat(session, [], ttl=TTL) == []
        assert queue.cancelled(session, []) == []


def test_cancelling_reaches_a_trial_in_every_state(timed: Sessions, clock: FakeClock) -> None:
    sweep = submit(timed, sweep_spec(batches=6, degrees=(1,)))
    register(timed)
    prefer = (sweep.id, 0)
    done, failed, leased, running, lost = (claimed(timed, prefer=prefer) for _ in range(5))
    complete(timed, done)
    with timed.writing() as session:
        queue.fail(session, failed, FAILURE, retry=False)
        queue.start(session, running)
        assert queue.cancelled(session, [leased, running]) == []
        assert sweeps.cancel(session, sweep.id).state is SweepState.RUNNING
        assert queue.cancelled(session, [leased, running]) == [leased, running]
    clock.advance(20)
    with timed.writing() as session:
        assert queue.heartbeat(session, [leased, running], ttl=TTL) == []
        queue.cancel(session, running)
        assert queue.fail(session, leased, FAILURE, retry=True) is TrialState.CANCELLED
    clock.advance(20)
    assert recover(timed) == [TrialState.CANCELLED], lost
    found = find(timed, sweep.id)
    assert (found.state, found.num_done) == (SweepState.CANCELLED, 6)
    assert found.counts[TrialState.SUCCEEDED] == 1
    assert found.counts[TrialState.FAILED] == 1
    assert found.counts[TrialState.CANCELLED] == 4
    assert found.finished_at == clock.now
    assert claim(timed) is None


def test_a_trial_is_not_cancelled_without_its_sweep(sessions: Sessions) -> None:
    submit(sessions, ONE_TRIAL)
    lease = claimed(sessions)
    with sessions.writing() as session, pytest.raises(ConflictError, match="not being cancelled"):
        queue.cancel(session, lease)
