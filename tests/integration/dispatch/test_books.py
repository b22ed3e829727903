"""What a dispatcher writes where something is not as it expects it."""

import structlog

from service.dispatch.books import Books
from service.dispatch.outcomes import Measured
from service.store.states import AttemptOutcome, TrialState
from tests.integration.dispatch.bench import Bench
from tests.integration.store.builders import ONE_TRIAL, TTL, claimed, result_of, submit
from tests.unit.dispatch.builders import GPU, node

TTL_S = TTL.total_seconds()


def books(pool: str = "default") -> Books:
    return Books(owner="me", pool=pool, ttl_s=TTL_S, max_attempts=3)


def test_a_result_that_cannot_be_stored_is_a_failed_attempt(bench: Bench) -> None:
    submit(bench.sessions, ONE_TRIAL)
    lease = claimed(bench.sessions, owner="me")
    with bench.sessions.writing() as session:
        books().settle(session, Measured(lease, result_of(lease, step_ns=())))
    (attempt,) = bench.attempts()
    assert (attempt.outcome, attempt.code) == (AttemptOutcome.FAILED, "result_not_stored")


def test_a_result_that_cannot_be_stored_is_refused_once_another_has_the_trial(
    bench: Bench,
) -> None:
    sweep = submit(bench.sessions, ONE_TRIAL)
    late = claimed(bench.sessions, owner="me")
    bench.time.pass_(TTL_S + 1)
    with bench.sessions.writing() as session:
        books().recover(session)
    claimed(bench.sessions, owner="another")
    with bench.sessions.writing() as session:
        books().settle(session, Measured(late, result_of(late, step_ns=())))
    assert bench.states(sweep.id) == {TrialState.LEASED: 1}
    assert [one.outcome for one in bench.attempts()] == [AttemptOutcome.EXPIRED, None]


def test_who_finds_a_node_s_name_taken_is_told_once_what_to_do(bench: Bench) -> None:
    ours, theirs = books("ours"), books("theirs")
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            for book, facts in ((theirs, node()), (ours, node(GPU))):
                with bench.sessions.writing() as session:
                    book.register(session, [facts])
    (told,) = logs
    assert (told["event"], told["log_level"]) == ("node_name_taken", "warning")
    assert (told["node"], told["pool"], told["other_pool"]) == ("n1", "ours", "theirs")
    assert told["remedy"] == "give the hosts different names, or let one dispatcher work both"
