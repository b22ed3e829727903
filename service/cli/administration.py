"""The database itself, for the few commands that cannot go over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager

from service.cli.configuration import load_settings
from service.cli.failures import CannotStartError
from service.cli.supervise.preparation import prepare_home, usable_engine
from service.store import schema
from service.store.engine import Sessions


@contextmanager
def open_database(*, must_be_current: bool = True) -> Iterator[Sessions]:
    """Connect to the database of the settings; whatever it refuses is said in one line."""
    settings = load_settings()
    prepare_home(settings)
    with usable_engine(settings) as engine:
        if must_be_current and not schema.is_current(engine):
            raise CannotStartError(
                f"the schema of {settings.database_shown} is not this version's",
                "run `tpsweep db upgrade` once",
            )
        yield Sessions(engine)
