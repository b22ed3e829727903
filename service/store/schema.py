"""Migrations, run from code: no alembic.ini, no working directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

import service
from service.store.engine import IMMEDIATE

_ONE_AT_A_TIME = 0x7470_7377  # "tpsw": any number that nobody else locks


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema up to the revision; several processes may try at once."""
    with _migrating(engine) as config:
        command.upgrade(config, revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Bring the schema down to the revision; `base` leaves nothing."""
    with _migrating(engine) as config:
        command.downgrade(config, revision)


def check(engine: Engine) -> None:
    """Raise alembic's CommandError where tables and migrations differ."""
    with _migrating(engine) as config:
        command.check(config)


def current_revision(engine: Engine) -> str | None:
    """Return the revision the database is at, None where it is empty."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head_revision() -> str:
    """Return the revision this version of the code works with."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None, "there is at least one migration"  # noqa: S101 - impossible
    return head


def is_current(engine: Engine) -> bool:
    """Whether code and database fit."""
    return current_revision(engine) == head_revision()


@contextmanager
def _migrating(engine: Engine) -> Iterator[Config]:
    """Hold the only migration of this database in one transaction."""
    with engine.connect() as plain:
        connection = plain.execution_options(**{IMMEDIATE: True})
        if connection.dialect.name == "sqlite":
            yield from _on_sqlite(connection)
        else:
            with connection.begin():
                # Another's migration is waited for to its end.
                connection.execute(text("SET LOCAL lock_timeout = 0"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _ONE_AT_A_TIME})
                yield _config(connection)


def _on_sqlite(connection: Connection) -> Iterator[Config]:
    # Tables are rebuilt to be altered, and dropping the old one would count as deleting its rows.
    driver = connection.connection.driver_connection
    assert driver is not None, "the connection is open"  # noqa: S101 - impossible
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        with connection.begin():
            yield _config(connection)
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
            if broken:
                raise RuntimeError(f"the migration leaves {len(broken)} dangling references")
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_migrations()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _migrations() -> Path:
    assert service.__file__ is not None, "service is a package"  # noqa: S101 - impossible
    return Path(service.__file__).parents[1] / "migrations"
