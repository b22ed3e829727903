"""The database's clock decides leases and due times; no other machine's does."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import ColumnElement, Select, String, bindparam, literal, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from service.store.columns import UtcDateTime

Clock = Callable[[], datetime]
CLOCK = "clock"
"""Where a session keeps a clock that stands in for the database's."""

_NO_TIME = timedelta(0)


class DatabaseNow(FunctionElement[datetime]):
    """The instant at which the statement runs, plus an offset given as text: `+1.500 seconds`."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(DatabaseNow, "sqlite")
def _on_sqlite(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:
    # %f has milliseconds; three zeros make it the text that DateTime stores, so that both compare.
    offset = compiler.process(element.clauses, **options)
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', {offset})"


@compiles(DatabaseNow, "postgresql")
def _on_postgresql(element: DatabaseNow, compiler: SQLCompiler, **options: object) -> str:
    offset = compiler.process(element.clauses, **options)
    return f"(statement_timestamp() + CAST({offset} AS interval))"


def db_time(session: Session) -> datetime:
    """What the clock says, read once for all that is to have the same time."""
    now = {"now": db_now_value(session)}
    return session.connection().execute(_time(own_clock=has_own_clock(session)), now).scalar_one()


@cache
def _time(*, own_clock: bool) -> Select[datetime]:
    return select(db_now_parameter("now", own_clock=own_clock))


def db_now(session: Session, *, plus: timedelta = _NO_TIME) -> ColumnElement[datetime]:
    """Now, or some time from now, as an expression of SQL."""
    value = db_now_value(session, plus=plus)
    return literal(value, UtcDateTime()) if has_own_clock(session) else DatabaseNow(literal(value))


def has_own_clock(session: Session) -> bool:
    """Whether a clock stands in for the database's."""
    return CLOCK in session.info


def db_now_parameter(name: str, *, own_clock: bool) -> ColumnElement[datetime]:
    """Build the same for a statement that is built once; it takes a `db_now_value` by this name."""
    if own_clock:
        return bindparam(name, type_=UtcDateTime())
    return DatabaseNow(bindparam(name, type_=String()))


def db_now_value(session: Session, *, plus: timedelta = _NO_TIME) -> datetime | str:
    """Return what stands for now: an offset in text, or an instant of the session's own clock."""
    clock: Clock | None = session.info.get(CLOCK)
    return f"{plus.total_seconds():+.3f} seconds" if clock is None else clock() + plus
