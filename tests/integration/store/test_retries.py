"""Failed points are put back; what succeeded or was cancelled is not."""

import pytest

from service.errors import ConflictError, NotFoundError
from service.store import points, queue, sweeps
from service.store.engine import Sessions
from service.store.leases import Failure
from service.store.states import PointState, SweepState
from tests.integration.store.builders import (
    claimed,
    complete,
    find,
    register,
    run_all,
    submit,
    sweep_spec,
)

FINAL = Failure(code="out_of_memory", message="no room", is_final=True)


def fail_one(sessions: Sessions) -> str:
    lease = claimed(sessions)
    with sessions.writing() as session:
        queue.fail(session, lease, FINAL, retry=True)
    return lease.point_id


def test_only_failed_points_are_put_back_and_run_again(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=3, degrees=(1,)))
    register(sessions)
    failed = fail_one(sessions)
    assert run_all(sessions) == 2
    assert find(sessions, sweep.id).state is SweepState.PARTIAL
    assert find(sessions, sweep.id).finished_at is not None
    with sessions.writing() as session:
        again = sweeps.retry(session, sweep.id)
    assert (again.state, again.num_done, again.finished_at) == (SweepState.RUNNING, 2, None)
    with sessions.reading() as session:
        waiting = points.page(session, sweep.id, state=PointState.QUEUED, limit=10).items
    assert [point.id for point in waiting] == [failed]
    assert run_all(sessions) == 1
    assert find(sessions, sweep.id).state is SweepState.SUCCEEDED


def test_a_retried_trial_has_its_whole_budget_again(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=1, degrees=(1,)))
    lost = Failure(code="rank_lost", message="rank 0 died")
    for _ in range(3):
        lease = claimed(sessions)
        with sessions.writing() as session:
            queue.fail(session, lease, lost, retry=True)
    with sessions.writing() as session:
        sweeps.retry(session, sweep.id)
    lease = claimed(sessions)
    assert lease.attempt == 4, "the fencing number never goes back"
    with sessions.writing() as session:
        assert queue.fail(session, lease, lost, retry=True) == "queued"


def test_there_is_nothing_to_retry_where_nothing_failed(sessions: Sessions) -> None:
    sweep = submit(sessions)
    with sessions.writing() as session, pytest.raises(ConflictError, match="no failed points"):
        sweeps.retry(session, sweep.id)


def test_a_cancelled_sweep_is_not_retried(sessions: Sessions) -> None:
    sweep = submit(sessions)
    fail_one(sessions)
    with sessions.writing() as session:
        sweeps.cancel(session, sweep.id)
        with pytest.raises(ConflictError, match="was cancelled"):
            sweeps.retry(session, sweep.id)


def test_cancelling_twice_or_after_the_end_changes_nothing(sessions: Sessions) -> None:
    running, finished = submit(sessions), submit(sessions)
    with sessions.writing() as session:
        first = sweeps.cancel(session, running.id)
        assert sweeps.cancel(session, running.id) == first
    assert run_all(sessions) == 4
    with sessions.writing() as session:
        assert sweeps.cancel(session, finished.id).state is SweepState.SUCCEEDED
        assert sweeps.cancel(session, finished.id).cancel_requested_at is None


def test_an_unknown_sweep_is_not_found(sessions: Sessions) -> None:
    with sessions.writing() as session:
        for use in (sweeps.find, sweeps.cancel, sweeps.retry):
            with pytest.raises(NotFoundError, match="no sweep 'x'"):
                use(session, "x")
        with pytest.raises(NotFoundError):
            points.page(session, "x", limit=1)
        with pytest.raises(NotFoundError):
            points.find(session, "x")


def test_sweep_and_point_states_follow_from_the_trials(sessions: Sessions) -> None:
    sweep = submit(sessions, sweep_spec(batches=1, degrees=(1,), replicates=2))
    register(sessions)

    def states() -> tuple[str, str]:
        with sessions.reading() as session:
            (point,) = points.page(session, sweep.id, limit=10).items
            return sweeps.find(session, sweep.id).state, point.state

    assert states() == ("queued", "queued")
    lease = claimed(sessions)
    assert states() == ("running", "running")
    complete(sessions, lease)
    assert states() == ("running", "running"), "one of two trials is over"
    fail_one(sessions)
    assert states() == ("partial", "partial")
    with sessions.writing() as session:
        sweeps.retry(session, sweep.id)
    lease = claimed(sessions)
    complete(sessions, lease)
    assert states() == ("succeeded", "succeeded")
