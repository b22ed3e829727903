"""A lease is fenced by its attempt number and ends by the database's clock."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from service.errors import ConflictError, LeaseLostError
from service.store import points, queue, sweeps, takeover
from service.store.engine import Sessions
from service.store.leases import Lease
from service.store.states import PointState, SweepState, TrialState
from tests.integration.store.builders import (
    FAILURE,
    ONE_TRIAL,
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


def let_expire(sessions: Sessions, clock: FakeClock) -> None:
    clock.advance(31)
    recover(sessions)


def evict(sessions: Sessions, clock: FakeClock) -> None:
    del clock
    with sessions.writing() as session:
        takeover.evict(session, "pool", owner="owner", max_attempts=3)


@pytest.mark.parametrize("lose", [let_expire, evict])
def test_lost_leases_have_a_budget_that_other_failures_do_not_use_up(
    timed: Sessions, clock: FakeClock, lose: Callable[[Sessions, FakeClock], None]
) -> None:
    sweep = submit(timed, ONE_TRIAL)

    def lose_one() -> SweepState:
        claimed(timed)
        lose(timed, clock)
        return find(timed, sweep.id).state

    for _ in range(5):
        failed = claimed(timed)
        with timed.writing() as session:
            queue.fail(session, failed, FAILURE, retry=True, max_attempts=10)
    assert [lose_one() for _ in range(3)] == ["queued", "queued", "failed"]
    with timed.writing() as session:
        sweeps.retry(session, sweep.id)
    assert [lose_one() for _ in range(3)] == ["queued", "queued", "failed"], "put back"


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
