"""Events tell what happened, in order, without a gap."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from service.errors import NotFoundError
from service.store import events, queue, sweeps
from service.store.engine import Sessions
from service.store.events import Happening
from service.store.leases import Failure
from service.store.states import EventKind
from tests.integration.store.builders import (
    claimed,
    complete,
    register,
    submit,
    sweep_spec,
)


def told(sessions: Sessions, sweep_id: str, *, seq: int = 0) -> list[events.Event]:
    with sessions.reading() as session:
        return events.after(session, sweep_id, seq=seq, limit=10_000)


def test_a_sweep_s_life_is_told_from_beginning_to_end(sessions: Sessions) -> None:
    register(sessions)
    sweep = submit(sessions, sweep_spec(batches=1, degrees=(1,), replicates=2))
    lease = claimed(sessions)
    with sessions.writing() as session:
        queue.start(session, lease)
        queue.fail(session, lease, Failure(code="rank_lost", message="died"), retry=True)
    complete(sessions, claimed(sessions))
    failed = claimed(sessions)
    with sessions.writing() as session:
        queue.fail(session, failed, Failure(code="out_of_memory", message="no"), retry=False)
        sweeps.retry(session, sweep.id)
        sweeps.cancel(session, sweep.id)
    found = told(sessions, sweep.id)
    assert [event.kind for event in found] == [
        EventKind.SWEEP_CREATED,
        EventKind.SWEEP_BOUND,
        EventKind.TRIAL_STARTED,
        EventKind.TRIAL_REQUEUED,
        EventKind.TRIAL_SUCCEEDED,
        EventKind.TRIAL_FAILED,
        EventKind.SWEEP_FINISHED,
        EventKind.SWEEP_RETRIED,
        EventKind.SWEEP_CANCELLED,
        EventKind.SWEEP_FINISHED,
    ]
    assert [event.seq for event in found] == list(range(1, 11))
    requeued = found[3].data
    assert (requeued["trial_id"], requeued["code"]) == (lease.trial_id, "rank_lost")
    assert found[5].data["counts"] == {
        "queued": 0,
        "leased": 0,
        "running": 0,
        "succeeded": 1,
        "failed": 1,
        "cancelled": 0,
    }
    assert found[6].data["state"] == "partial"
    assert found[9].data["state"] == "cancelled"


def test_a_reader_goes_on_after_the_last_event_it_saw(sessions: Sessions) -> None:
    sweep = submit(sessions)
    claimed(sessions)
    assert [event.seq for event in told(sessions, sweep.id, seq=1)] == [2]
    assert told(sessions, sweep.id, seq=2) == []
    with sessions.reading() as session:
        assert len(events.after(session, sweep.id, seq=0, limit=1)) == 1


def test_an_event_of_no_sweep_is_refused(sessions: Sessions) -> None:
    with sessions.writing() as session, pytest.raises(NotFoundError):
        events.append(session, "x", Happening(EventKind.SWEEP_BOUND, {}))


def test_numbers_have_no_gap_whoever_writes_and_whoever_fails(sessions: Sessions) -> None:
    sweep = submit(sessions)

    def write(number: int) -> None:
        with sessions.writing() as session:
            events.append(session, sweep.id, Happening(EventKind.SWEEP_BOUND, {"number": number}))
            if number % 5 == 0:
                raise InterruptedError

    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(write, number) for number in range(100)]
    assert sum(future.exception() is None for future in done) == 80
    found = told(sessions, sweep.id)
    assert [event.seq for event in found] == list(range(1, 82))
    written = {event.data.get("number") for event in found[1:]}
    assert written == {number for number in range(100) if number % 5}


def test_a_reader_never_passes_a_number_that_is_still_being_written(sessions: Sessions) -> None:
    """Were numbers drawn outside the lock, 3 could be seen before 2 and 2 be lost to a reader."""
    sweep = submit(sessions)
    with ThreadPoolExecutor(1) as pool:
        with sessions.writing() as session:
            assert events.append(session, sweep.id, Happening(EventKind.SWEEP_BOUND, {})) == 2

            def write_third() -> int:
                with sessions.writing() as other:
                    return events.append(other, sweep.id, Happening(EventKind.SWEEP_BOUND, {}))

            third = pool.submit(write_third)
            with pytest.raises(TimeoutError):
                third.result(timeout=0.3)
            assert [event.seq for event in told(sessions, sweep.id)] == [1]
        assert third.result(timeout=10) == 3
    assert [event.seq for event in told(sessions, sweep.id)] == [1, 2, 3]
