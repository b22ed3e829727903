"""Faults 8 and 9: a dispatcher that is killed, and one that sleeps past its lease."""

import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.engine import make_url

from service.store.engine import Sessions, create_engine
from service.store.models.result import ResultRow
from service.store.models.trial import AttemptRow
from service.store.states import AttemptOutcome, TrialState
from tests.e2e.dispatch_bench import quick_sweep
from tests.e2e.dispatcher_process import DispatcherProcess
from tests.integration.dispatch.ray_session import alive
from tests.integration.store.builders import find, submit
from tests.waiting import wait_until
from workers.contract.sweep import SweepSpec

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

START_WITHIN_S = 60
LONG_TRIALS = quick_sweep(batches=6, max_time_s=1.0)


class Story:
    """A database and the dispatchers that come and go."""

    def __init__(self, url: str, folder: Path, *, ttl_s: float) -> None:
        self.sessions = Sessions(create_engine(url))
        self.dispatchers: list[DispatcherProcess] = []
        self._url, self._folder, self._ttl_s = url, folder, ttl_s

    def dispatcher(self) -> DispatcherProcess:
        home = self._folder / f"home{len(self.dispatchers)}"
        process = DispatcherProcess(home, database_url=self._url, ttl_s=self._ttl_s)
        self.dispatchers.append(process)
        return process

    def submit(self, spec: SweepSpec) -> str:
        return submit(self.sessions, spec).id

    def count(self, sweep_id: str, state: TrialState) -> int:
        return find(self.sessions, sweep_id).counts[state]

    def attempts(self) -> list[AttemptRow]:
        with self.sessions.reading() as session:
            return list(session.scalars(select(AttemptRow).order_by(AttemptRow.granted_at)))

    def check_all_succeeded_once(self, sweep_id: str, *, num_trials: int) -> None:
        assert self.count(sweep_id, TrialState.SUCCEEDED) == num_trials
        with self.sessions.reading() as session:
            results = list(session.scalars(select(ResultRow.trial_id)))
        assert len(results) == len(set(results)) == num_trials

    def stop_between_transactions(self, dispatcher: DispatcherProcess) -> None:
        """A stopped process keeps SQLite's write lock if it has it, and nobody else can go on."""
        dispatcher.send(signal.SIGSTOP)
        while self._is_locked():
            dispatcher.send(signal.SIGCONT)
            time.sleep(0.05)
            dispatcher.send(signal.SIGSTOP)

    def _is_locked(self) -> bool:
        path = make_url(self._url).database or ""
        with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
        return False

    def close(self) -> None:
        for dispatcher in self.dispatchers:
            dispatcher.close()
        self.sessions.engine.dispose()


@pytest.fixture
def tell(sqlite_url: str, tmp_path: Path) -> Iterator[Callable[[float], Story]]:
    stories: list[Story] = []

    def tell(ttl_s: float) -> Story:
        stories.append(Story(sqlite_url, tmp_path, ttl_s=ttl_s))
        return stories[-1]

    yield tell
    for story in stories:
        story.close()


def test_8_after_a_killed_dispatcher_nothing_runs_and_the_next_goes_on_until_it_is_stopped(
    tell: Callable[[float], Story],
) -> None:
    story = tell(60)
    first = story.dispatcher()
    sweep_id = story.submit(LONG_TRIALS)
    wait_until(
        lambda: (
            story.count(sweep_id, TrialState.SUCCEEDED) >= 1
            and story.count(sweep_id, TrialState.RUNNING) == 1
        ),
        within_s=START_WITHIN_S,
    )
    ranks = first.rank_pids()
    assert len(ranks) == 2
    first.send(signal.SIGKILL)
    wait_until(lambda: not alive(ranks), within_s=5)
    wait_until(lambda: not first.leftovers(), within_s=10)
    held = story.count(sweep_id, TrialState.RUNNING) + story.count(sweep_id, TrialState.LEASED)
    assert held <= 1
    second = story.dispatcher()
    wait_until(lambda: "pool_taken_over" in second.output, within_s=START_WITHIN_S)
    done = story.count(sweep_id, TrialState.SUCCEEDED)
    wait_until(
        lambda: (
            story.count(sweep_id, TrialState.SUCCEEDED) > done
            and story.count(sweep_id, TrialState.RUNNING) == 1
        ),
        within_s=START_WITHIN_S,
    )
    lost = [row for row in story.attempts() if row.outcome is AttemptOutcome.EXPIRED]
    assert len(lost) == held
    assert all("died while it held the trial" in (row.message or "") for row in lost)
    check_that_a_stopping_dispatcher_lets_the_running_trial_end(story, second, sweep_id)


def check_that_a_stopping_dispatcher_lets_the_running_trial_end(
    story: Story, dispatcher: DispatcherProcess, sweep_id: str
) -> None:
    before = story.count(sweep_id, TrialState.SUCCEEDED)
    dispatcher.send(signal.SIGTERM)
    assert dispatcher.wait(within_s=20) == 0
    assert dispatcher.leftovers() == []
    assert story.count(sweep_id, TrialState.RUNNING) == 0
    assert story.count(sweep_id, TrialState.LEASED) == 0
    assert story.count(sweep_id, TrialState.SUCCEEDED) > before
    assert {row.outcome for row in story.attempts()} <= {
        AttemptOutcome.SUCCEEDED,
        AttemptOutcome.RELEASED,
        AttemptOutcome.EXPIRED,
    }


def test_9_a_dispatcher_that_slept_past_its_lease_writes_nothing_and_goes(
    tell: Callable[[float], Story],
) -> None:
    story = tell(6)
    first = story.dispatcher()
    wait_until(lambda: "pool_taken" in first.output, within_s=START_WITHIN_S)
    second = story.dispatcher()
    wait_until(lambda: "pool_is_taken" in second.output, within_s=START_WITHIN_S)
    sweep_id = story.submit(LONG_TRIALS)
    wait_until(lambda: story.count(sweep_id, TrialState.RUNNING) == 1, within_s=START_WITHIN_S)
    ranks = first.rank_pids()
    story.stop_between_transactions(first)
    wait_until(lambda: find(story.sessions, sweep_id).finished_at, within_s=90)
    wait_until(lambda: not alive(ranks), within_s=20)
    before = [(row.trial_id, row.attempt, row.outcome) for row in story.attempts()]
    first.send(signal.SIGCONT)
    assert first.wait(within_s=20) == 75
    wait_until(lambda: not first.leftovers(), within_s=15)
    assert [(row.trial_id, row.attempt, row.outcome) for row in story.attempts()] == before
    story.check_all_succeeded_once(sweep_id, num_trials=6)
    assert [row.outcome for row in story.attempts()].count(AttemptOutcome.EXPIRED) == 1
    second.send(signal.SIGTERM)
    assert second.wait(within_s=20) == 0
    assert second.leftovers() == []
