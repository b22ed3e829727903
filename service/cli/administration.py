"""The database itself, for the few commands that cannot go over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from service.cli.configuration import load_settings
from service.cli.failures import CannotStartError
from service.cli.supervise.preparation import prepare_home
from service.store import schema
from service.store.engine import Sessions, create_engine


@contextmanager
def open_database(*, must_be_current: bool = True) -> Iterator[Sessions]:
    """Connect to the database of the settings; whatever it refuses is said in one line."""
    settings = load_settings()
    prepare_home(settings)
    shown = settings.database_shown
    try:
        engine = create_engine(settings.database)
        try:
            if must_be_current and not schema.is_current(engine):
                raise CannotStartError(
                    f"the schema of {shown} is not this version's", "run `tpsweep db upgrade` once"
                )
            yield Sessions(engine)
        finally:
            engine.dispose()
    except SQLAlchemyError as error:
        reason = str(error).splitlines()[0]
        raise CannotStartError(f"the database {shown} cannot be used: {reason}") from error
