"""Migrations on both databases, with data in place."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Engine, Enum, inspect, text
from sqlalchemy.engine import make_url

from service.store import schema
from service.store.engine import Sessions, create_engine
from service.store.models.metadata import METADATA
from tests.integration.store.builders import find, run_all, submit
from tests.integration.store.locks import is_anyone_waiting
from tests.waiting import wait_until


def test_a_migrated_database_is_what_the_tables_say(engine: Engine) -> None:
    assert schema.is_current(engine)
    schema.check(engine)


def test_down_and_up_again_leaves_what_the_tables_say(engine: Engine, sessions: Sessions) -> None:
    submit(sessions)
    run_all(sessions)
    schema.downgrade(engine, "base")
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    assert schema.current_revision(engine) is None
    schema.upgrade(engine)
    schema.check(engine)
    sweep = submit(sessions)
    assert find(sessions, sweep.id).num_trials == 4


def test_upgrading_a_current_database_keeps_its_data(engine: Engine, sessions: Sessions) -> None:
    sweep = submit(sessions)
    schema.upgrade(engine)
    assert find(sessions, sweep.id) == sweep


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.sqlite3'}"
    url = request.getfixturevalue("empty_postgresql_url")
    assert isinstance(url, str)
    return url


def test_an_empty_database_is_not_current(empty_database: str) -> None:
    engine = create_engine(empty_database)
    assert schema.current_revision(engine) is None
    assert not schema.is_current(engine)
    engine.dispose()


def test_several_processes_may_upgrade_at_once(empty_database: str) -> None:
    script = (
        "import sys; from service.store import schema; from service.store.engine import "
        "create_engine; schema.upgrade(create_engine(sys.argv[1]))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, empty_database], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    errors = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    engine = create_engine(empty_database)
    assert schema.is_current(engine)
    engine.dispose()


def test_another_s_migration_is_waited_for_however_long_it_takes(postgresql_url: str) -> None:
    url = make_url(postgresql_url).update_query_dict({"options": "-c lock_timeout=1ms"})
    engine = create_engine(url.render_as_string(hide_password=False))
    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as another:
            locked = {"n": schema._ONE_AT_A_TIME}
            another.execute(text("SELECT pg_advisory_xact_lock(:n)"), locked)
            waiting = pool.submit(schema.upgrade, engine)
            wait_until(lambda: is_anyone_waiting(Sessions(engine)), within_s=20)
        waiting.result()
    engine.dispose()


def test_a_migration_that_fails_leaves_nothing(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = create_engine(empty_database)
    upgrade = command.upgrade

    def upgrade_and_fail(*arguments: object) -> None:
        upgrade(*arguments)  # type: ignore[arg-type]
        raise RuntimeError("the power went")

    monkeypatch.setattr(command, "upgrade", upgrade_and_fail)
    with pytest.raises(RuntimeError, match="the power went"):
        schema.upgrade(engine)
    assert inspect(engine).get_table_names() == []
    engine.dispose()


def test_the_alembic_command_works_without_an_ini_file(sqlite_url: str) -> None:
    environment = {**os.environ, "TPSWEEP_DATABASE_URL": sqlite_url}
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "check"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "No new upgrade operations" in done.stdout


def test_every_check_constraint_lists_its_enum(engine: Engine) -> None:
    declared = {
        (table.name, column.name): {member.value for member in column.type.enum_class}
        for table in METADATA.tables.values()
        for column in table.columns
        if isinstance(column.type, Enum) and column.type.enum_class is not None
    }
    assert ("trials", "state") in declared
    found = {
        (table, check["name"].removeprefix(f"ck_{table}_")): set(
            re.findall(r"'(\w+)'", check["sqltext"])
        )
        for table in inspect(engine).get_table_names()
        for check in inspect(engine).get_check_constraints(table)
        if check["name"]
    }
    assert found == declared


def test_an_unknown_state_is_refused_by_the_database(engine: Engine, sessions: Sessions) -> None:
    submit(sessions)
    with pytest.raises(Exception, match="ck_trials_state"), engine.begin() as connection:
        connection.execute(text("UPDATE trials SET state = 'lost'"))
