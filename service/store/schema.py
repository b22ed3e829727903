"""Migrations, run from code: no alembic.ini, no working directory."""

from sqlalchemy import Engine


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema to the revision; several processes may try at once."""
    raise NotImplementedError


def downgrade(engine: Engine, revision: str) -> None:
    raise NotImplementedError


def current_revision(engine: Engine) -> str | None:
    """Revision the database is at, None where it is empty."""
    raise NotImplementedError


def head_revision() -> str:
    """Revision this version of the code works with."""
    raise NotImplementedError


def is_current(engine: Engine) -> bool:
    return current_revision(engine) == head_revision()
