"""An idle dispatcher learns cheaply that somebody has committed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from service.store import fleet
from service.store.commits import CommitWatch
from service.store.engine import Sessions, create_engine
from tests.integration.store.builders import claim, node, submit


@pytest.fixture
def watch(engine: Engine) -> Iterator[CommitWatch]:
    watch = CommitWatch(engine)
    assert watch.has_moved(), "the first look knows nothing of what was before"
    yield watch
    watch.close()


def test_every_commit_of_another_is_seen_and_only_once(
    watch: CommitWatch, sessions: Sessions
) -> None:
    for _ in range(3):
        submit(sessions)
        assert watch.has_moved()
        assert not watch.has_moved()


def test_an_open_transaction_is_seen_when_it_commits(
    watch: CommitWatch, sessions: Sessions
) -> None:
    with sessions.writing() as session:
        fleet.register(session, node(), pool="pool")
        watch.has_moved()  # PostgreSQL shows that somebody is at work
        assert not watch.has_moved()
    assert watch.has_moved()


def test_looking_for_work_in_vain_is_no_news(watch: CommitWatch, sessions: Sessions) -> None:
    assert claim(sessions) is None
    assert not watch.has_moved()


def test_who_cannot_tell_says_that_there_may_be_news(tmp_path: Path) -> None:
    watch = CommitWatch(create_engine(f"sqlite:///{tmp_path}/no/such/folder/x.sqlite3"))
    assert watch.has_moved()
    assert watch.has_moved()


def test_the_first_look_after_an_interruption_is_news(watch: CommitWatch) -> None:
    watch.close()
    assert watch.has_moved()
    assert not watch.has_moved()


def test_looking_leaves_no_transaction_open(postgresql_url: str) -> None:
    engine = create_engine(postgresql_url)
    watch = CommitWatch(engine)
    watch.has_moved()
    with Sessions(engine).reading() as session:
        waiting = session.connection().exec_driver_sql(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND state = 'idle in transaction'"
        )
        assert waiting.scalar() == 0
    watch.close()
    engine.dispose()
