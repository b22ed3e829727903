"""Transactions that wait for each other, on PostgreSQL; on SQLite they begin one by one."""

from sqlalchemy import text

from service.store.engine import Sessions


def is_anyone_waiting(sessions: Sessions) -> bool:
    """Whether some transaction of the server waits for a lock of another."""
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with sessions.engine.connect() as connection:
        return bool(connection.scalar(waiting))
