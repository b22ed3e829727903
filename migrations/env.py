"""How Alembic reaches the database: the caller's connection, or the one the settings name."""

from alembic import context
from sqlalchemy import Connection, text

from service.settings import Settings
from service.store.engine import create_engine
from service.store.models.metadata import METADATA

LOCK_TIMEOUT = "10s"
STATEMENT_TIMEOUT = "10min"


def run(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))
        connection.execute(text(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'"))
        # Rows are reckoned anew between two statements, however many there are.
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    context.configure(
        connection=connection,
        target_metadata=METADATA,
        render_as_batch=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with create_engine(Settings().database).begin() as own:
        run(own)
