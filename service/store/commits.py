"""Whether anything was committed since the last look: far cheaper than to look for work in vain."""

from typing import Final

from sqlalchemy import Engine, PoolProxiedConnection

_QUESTIONS: Final = {
    "sqlite": "PRAGMA data_version",
    "postgresql": "SELECT CAST(pg_current_snapshot() AS text)",
}
"""What answers differently once somebody else has committed a change."""


class CommitWatch:
    """Asks on a connection of its own, outside any transaction. For one thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: PoolProxiedConnection | None = None
        self._seen: object = None

    @property
    def is_instant(self) -> bool:
        """Whether a look takes microseconds, since no network and no other process is asked."""
        return self._engine.dialect.name == "sqlite"

    def has_moved(self) -> bool:
        """Whether there was a commit since the last call; True as well where it cannot tell."""
        try:
            now = self._ask()
        except self._engine.dialect.loaded_dbapi.Error:
            self.close()
            return True
        has_moved, self._seen = now != self._seen, now
        return has_moved

    def close(self) -> None:
        """Let go of the connection; the next look opens another."""
        if self._connection is not None:
            self._connection.invalidate()
        self._connection, self._seen = None, None

    def _ask(self) -> object:
        if self._connection is None:
            self._connection = self._open()
        cursor = self._connection.cursor()
        try:
            cursor.execute(_QUESTIONS[self._engine.dialect.name])
            return cursor.fetchone()
        finally:
            cursor.close()

    def _open(self) -> PoolProxiedConnection:
        connection = self._engine.raw_connection()
        if connection.dbapi_connection is not None:
            self._engine.dialect.set_isolation_level(connection.dbapi_connection, "AUTOCOMMIT")
        return connection
