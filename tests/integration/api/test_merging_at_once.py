"""Lines are merged while others change, or bring, the same sweep.

On SQLite they begin one by one.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from service.reports import merging as reports
from service.store import sweeps
from service.store.engine import Sessions, create_engine
from service.store.merged_known import Known
from service.store.records import Record
from service.store.states import TrialState
from tests.integration.api.transferring import EXPORT, fail_once, fill, instance
from tests.integration.store.builders import find
from tests.integration.store.locks import is_anyone_waiting
from tests.waiting import wait_until


@pytest.fixture
def here(postgresql_url: str) -> Iterator[Sessions]:
    """An empty database that lines are merged into."""
    engine = create_engine(postgresql_url)
    yield Sessions(engine)
    engine.dispose()


def merge(sessions: Sessions, lines: Sequence[bytes]) -> reports.MergeReport:
    return reports.merge(sessions, BytesIO(b"".join(lines)))


def once_looked(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen once, after a merge has looked for what is there."""
    look, acts = Known.about, [act]

    def looked(session: Session, records: Sequence[Record]) -> Known:
        known = look(session, records)
        if acts:
            acts.pop()()
        return known

    monkeypatch.setattr(Known, "about", looked)


def test_a_sweep_is_not_put_back_while_results_are_merged_into_it(
    tmp_path: Path, sqlite_url: str, here: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    with instance(tmp_path, sqlite_url) as (source, sessions):
        sweep_id = fail_once(source, sessions)
        lines = source.get(EXPORT).content.splitlines(keepends=True)
    assert merge(here, lines[1:]).num_new == len(lines) - 1

    def put_back() -> None:
        with here.writing() as session:
            sweeps.retry(session, sweep_id)

    with ThreadPoolExecutor(1) as pool:
        begun: list[Future[None]] = []

        def try_to_put_back() -> None:
            begun.append(pool.submit(put_back))
            wait_until(lambda: is_anyone_waiting(here), within_s=20)

        once_looked(monkeypatch, try_to_put_back)
        assert merge(here, lines[:1]).num_new == 1
        begun[0].result()
    assert find(here, sweep_id).counts[TrialState.QUEUED] == 1
    (refused,) = merge(here, [_another_trial(lines[0])]).refused
    assert refused.reason == f"sweep {sweep_id} is still being measured here"


def test_two_who_bring_parts_of_a_new_sweep_at_once_bring_all_of_it(
    tmp_path: Path, sqlite_url: str, here: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    with instance(tmp_path, sqlite_url) as (source, sessions):
        fill(source, sessions)
        lines = source.get(EXPORT).content.splitlines(keepends=True)
    with ThreadPoolExecutor(1) as pool:
        begun: list[Future[reports.MergeReport]] = []

        def bring_the_others() -> None:
            begun.append(pool.submit(merge, here, lines[1::2]))
            wait_until(lambda: is_anyone_waiting(here) or begun[0].done(), within_s=20)

        once_looked(monkeypatch, bring_the_others)
        found = [merge(here, lines[::2]), begun[0].result()]
    assert [one.num_refused for one in found] == [0, 0]
    assert sum(one.num_new for one in found) == len(lines)
    assert merge(here, lines).num_known == len(lines)


def _another_trial(line: bytes) -> bytes:
    """The same, of a trial that is not there."""
    document = json.loads(line)
    return json.dumps({**document, "trial": {**document["trial"], "id": "another"}}).encode()
