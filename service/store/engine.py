"""Engines of both databases and the two kinds of transaction on them."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import psycopg
import sqlalchemy
from sqlalchemy import Connection, Engine, ExceptionContext, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import ORMExecuteState, Session, sessionmaker

from service.errors import InvalidRequestError
from service.store.clock import CLOCK, Clock

IMMEDIATE: Final = "sqlite_begin_immediate"
"""Execution option of connections that write: they take SQLite's write lock at once."""

_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")
_BUSY_TIMEOUT_S = 30.0
_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")
_POOL_SIZE = 10
_POOL_OVERFLOW = 40
_PATIENCE: Final[Mapping[str, object]] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Of PostgreSQL's client: a server whose host is gone is given up within half a minute."""
_LOCK_TIMEOUT = "-c lock_timeout=5s"
"""Whoever has a lock for longer is gone or stopped; nobody hangs with it."""
_LIMIT_WRITER = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
"""A writer that says nothing for so long is cut off, and its locks are free.

Not a reader: it locks no row, and may reckon for a while between two looks.
"""
_ONE_LOOK: Final = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def create_engine(url: str) -> Engine:
    """Connect to SQLite (WAL) or PostgreSQL (psycopg 3), with a pool of connections.

    How long PostgreSQL is waited for the URL may say otherwise, as libpq's parameters.
    ArgumentError for the URL of anything else, without its text: that may hold a password.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    given = parsed.normalized_query
    patience = {name: value for name, value in _PATIENCE.items() if name not in given}
    engine = sqlalchemy.create_engine(
        parsed,
        # Of a setting that is named twice the last one counts: the URL's.
        connect_args={**patience, "options": " ".join((_LOCK_TIMEOUT, *given.get("options", ())))},
        pool_size=_POOL_SIZE,
        max_overflow=_POOL_OVERFLOW,
        pool_pre_ping=True,
        json_serializer=_as_it_is,
        json_deserializer=_as_it_is,
    )
    event.listen(engine, "begin", _limit_writer)
    event.listen(engine, "handle_error", _blame_the_request)
    return engine


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the second where the port is no number
        parsed = None
    if parsed is None or parsed.drivername not in _DRIVERS:
        raise ArgumentError(
            "its URL is neither sqlite:///PATH nor postgresql://USER:PASSWORD@HOST:PORT/NAME"
        )
    return parsed


def _blame_the_request(context: ExceptionContext) -> None:
    """Text that PostgreSQL has no way to store came from outside: a NUL in a name or an id."""
    if isinstance(context.original_exception, psycopg.DataError):
        error = str(context.original_exception)
        if "NUL" in error or "\\u0000" in error:
            raise InvalidRequestError("text may not contain the character NUL")


def _sqlite(url: URL) -> Engine:
    # The driver must not begin transactions by itself: it would do so after the first read.
    arguments = {"timeout": _BUSY_TIMEOUT_S, "isolation_level": None}
    is_file = url.database not in (None, "", ":memory:")
    pool = {"pool_size": _POOL_SIZE, "max_overflow": _POOL_OVERFLOW} if is_file else {}
    engine = sqlalchemy.create_engine(
        url,
        connect_args=arguments,
        json_serializer=_as_it_is,
        json_deserializer=_as_it_is,
        **pool,
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _as_it_is(text: str) -> str:
    """JSON is written and read by the columns that hold it."""
    return text


def _set_pragmas(connection: sqlite3.Connection, _record: object) -> None:
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if _is_writer(connection) else "BEGIN")


def _limit_writer(connection: Connection) -> None:
    if _is_writer(connection):
        connection.exec_driver_sql(_LIMIT_WRITER)


def _is_writer(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get(IMMEDIATE, False))


class Sessions:
    """Opens transactions: one for each use case, at the edge or in the loop."""

    def __init__(self, engine: Engine, *, clock: Clock | None = None) -> None:
        self.engine = engine
        info = {} if clock is None else {CLOCK: clock}
        writer = engine.execution_options(**{IMMEDIATE: True})
        # A transaction of SQLite is one look as it is.
        one_look = _ONE_LOOK if engine.dialect.name == "postgresql" else {}
        reader = engine.execution_options(**one_look)
        self._reading = sessionmaker(reader, info=info, expire_on_commit=False)
        self._writing = sessionmaker(writer, info=info, expire_on_commit=False)
        event.listen(self._reading, "do_orm_execute", _refuse_writes)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open one consistent look; a statement that writes is refused."""
        with self._reading() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Commit at exit, roll back on an exception. BEGIN IMMEDIATE on SQLite."""
        with self._writing.begin() as session:
            yield session


def _refuse_writes(state: ORMExecuteState) -> None:
    if not state.is_select:
        raise RuntimeError("a reading session was asked to write; open a writing one")
