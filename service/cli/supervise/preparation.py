"""What must be so before the service starts: a home, a current schema, a free port."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from service.cli.failures import CannotStartError
from service.settings import Settings
from service.store import schema
from service.store.engine import create_engine


def prepare_home(settings: Settings) -> None:
    """Make the data directory, for its owner only."""
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStartError(
            f"TPSWEEP_HOME={settings.home} cannot be made: {error.strerror}"
        ) from error


@contextmanager
def usable_engine(settings: Settings) -> Iterator[Engine]:
    """Connect to the database of the settings; whatever it refuses is said in one line."""
    try:
        engine = create_engine(settings.database)
        try:
            yield engine
        finally:
            engine.dispose()
    except SQLAlchemyError as error:
        reason = str(error).splitlines()[0]
        raise CannotStartError(
            f"the database {settings.database_shown} cannot be used: {reason}"
        ) from error


def prepare_database(settings: Settings) -> str:
    """Bring the embedded database to the newest schema; of a shared one, only check it."""
    with usable_engine(settings) as engine:
        before = schema.current_revision(engine)
        if before == schema.head_revision():
            return f"{settings.database_shown} (schema {before})"
        if engine.dialect.name != "sqlite":
            raise CannotStartError(
                f"the schema of {settings.database_shown} is {before or 'empty'}, "
                f"not {schema.head_revision()}",
                "run `tpsweep db upgrade` once, while no older version uses it",
            )
        schema.upgrade(engine)
        return f"{settings.database_shown} (schema {before or 'empty'} -> {schema.head_revision()})"


def is_port_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(host: str) -> int:
    """Take a port that nobody listens on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
