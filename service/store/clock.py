"""The database's clock decides leases and due times; no other machine's does."""

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, literal
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


def db_now(session: Session, *, plus: timedelta = _NO_TIME) -> ColumnElement[datetime]:
    """Now, or some time from now, as an expression of SQL."""
    clock: Clock | None = session.info.get(CLOCK)
    if clock is not None:
        return literal(clock() + plus, UtcDateTime())
    return DatabaseNow(literal(f"{plus.total_seconds():+.3f} seconds"))
