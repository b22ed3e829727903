"""Transactions on both databases."""

import threading
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, select, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError

from service.errors import InvalidRequestError, NotFoundError
from service.store import sweep_changes, sweeps, tokens
from service.store.engine import Sessions, create_engine
from service.store.models.sweep import SweepRow
from tests.integration.store.builders import find, submit


def test_a_writing_session_commits_at_its_end_and_rolls_back_on_an_error(
    sessions: Sessions,
) -> None:
    sweep = submit(sessions)

    def rename(*, fail: bool) -> None:
        with sessions.writing() as session:
            session.execute(update(SweepRow).values(name="renamed"))
            if fail:
                raise InterruptedError

    with pytest.raises(InterruptedError):
        rename(fail=True)
    assert find(sessions, sweep.id).name == ""
    rename(fail=False)
    assert find(sessions, sweep.id).name == "renamed"


def test_a_reading_session_refuses_to_write(sessions: Sessions) -> None:
    submit(sessions)
    with sessions.reading() as session, pytest.raises(RuntimeError, match="open a writing one"):
        session.execute(update(SweepRow).values(name="renamed"))


def test_text_that_postgresql_cannot_store_is_the_request_s_fault(
    postgresql_url: str,
) -> None:
    engine = create_engine(postgresql_url)
    sessions = Sessions(engine)
    with sessions.reading() as session, pytest.raises(InvalidRequestError, match="NUL"):
        sweeps.find(session, "a\0b")
    with sessions.writing() as session, pytest.raises(InvalidRequestError, match="NUL"):
        tokens.create(session, name="a\0b", scopes=())
    with sessions.reading() as session, pytest.raises(InvalidRequestError, match="NUL"):
        sweeps.page(session, tag=("\0", ""), limit=1)
    engine.dispose()


def test_an_id_that_no_id_looks_like_is_not_found(sessions: Sessions) -> None:
    with sessions.reading() as session:
        for strange in ("", "'; DROP TABLE sweeps; --", "x" * 10_000, "\U0001f600", "%"):
            with pytest.raises(NotFoundError):
                sweeps.find(session, strange)


def test_sqlite_is_set_up_for_many_processes(sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    with engine.connect() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 30_000}
    engine.dispose()


def test_a_reader_is_not_held_up_by_a_writer(engine: Engine) -> None:
    sessions = Sessions(engine)
    submit(sessions)
    with sessions.writing() as writer:
        writer.execute(update(SweepRow).values(name="renamed"))
        with sessions.reading() as reader:
            assert reader.scalars(select(SweepRow.name)).all() == [""]


def test_a_reader_sees_one_state_of_the_database(sessions: Sessions) -> None:
    submit(sessions)
    with sessions.reading() as reader:
        assert reader.scalars(select(SweepRow.name)).all() == [""]
        with sessions.writing() as writer:
            writer.execute(update(SweepRow).values(name="renamed"))
        assert reader.scalars(select(SweepRow.name)).all() == [""]
    with sessions.reading() as reader:
        assert reader.scalars(select(SweepRow.name)).all() == ["renamed"]


def parameters_of(engine: Engine) -> dict[str, str]:
    """What libpq was told."""
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        return driver.info.get_parameters()


def test_a_lock_that_another_keeps_is_not_waited_for_longer_than_the_url_says(
    postgresql_url: str,
) -> None:
    patience = {"options": "-c lock_timeout=50ms", "connect_timeout": "7"}
    url = make_url(postgresql_url).update_query_dict(patience)
    engine = create_engine(url.render_as_string(hide_password=False))
    sessions = Sessions(engine)
    sweep = submit(sessions)
    with sessions.writing() as holder:
        sweep_changes.lock_sweep(holder, sweep.id)
        with pytest.raises(OperationalError, match="lock timeout"), sessions.writing() as session:
            sweep_changes.lock_sweep(session, sweep.id)
    assert parameters_of(engine)["connect_timeout"] == "7"
    engine.dispose()


def test_who_waits_for_postgresql_gives_up_where_the_url_says_nothing(postgresql_url: str) -> None:
    engine = create_engine(postgresql_url)
    with engine.connect() as connection:
        assert connection.execute(text("SHOW lock_timeout")).scalar() == "5s"
    parameters = parameters_of(engine)
    assert (parameters["connect_timeout"], parameters["tcp_user_timeout"]) == ("10", "15000")
    engine.dispose()


def test_a_writer_that_says_nothing_any_more_loses_its_locks(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = "SET LOCAL idle_in_transaction_session_timeout = '50ms'"
    monkeypatch.setattr("service.store.engine._LIMIT_WRITER", soon)
    engine = create_engine(postgresql_url)
    sessions = Sessions(engine)
    sweep = submit(sessions)

    def fall_silent_while_another_waits() -> None:
        with sessions.writing() as silent:
            sweep_changes.lock_sweep(silent, sweep.id)
            with sessions.writing() as session:
                sweep_changes.lock_sweep(session, sweep.id)

    with pytest.raises(DBAPIError, match="idle-in-transaction"):
        fall_silent_while_another_waits()
    engine.dispose()


def test_who_only_reads_may_reckon_as_long_as_it_takes(postgresql_url: str) -> None:
    engine = create_engine(postgresql_url)
    limit = text("SHOW idle_in_transaction_session_timeout")
    with Sessions(engine).writing() as session:
        assert session.scalar(limit) == "1min"
    with Sessions(engine).reading() as session:
        assert session.connection().scalar(limit) == "0"
    engine.dispose()


def test_writers_of_sqlite_wait_for_each_other(sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    sessions = Sessions(engine)
    submit(sessions)

    def add() -> None:
        for _ in range(20):
            with sessions.writing() as session:
                priority = session.scalar(select(SweepRow.priority))
                session.execute(update(SweepRow).values(priority=(priority or 0) + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with sessions.reading() as session:
        assert session.scalar(select(SweepRow.priority)) == 80
    engine.dispose()


def test_a_database_that_lives_in_memory_works_for_one_thread(tmp_path: Path) -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
    engine.dispose()
    assert list(tmp_path.iterdir()) == []
