import typer
from rich.console import Console

from service.cli.administration import open_database
from service.cli.options import AsJson
from service.cli.terminal import print_json, say
from service.store import schema

app = typer.Typer(no_args_is_help=True, help="Look after the database's schema.")


@app.callback()
def group() -> None:
    """Look after the database's schema."""


@app.command()
def upgrade(*, as_json: AsJson = False) -> None:
    """Bring the schema to this version's; harmless where it is already."""
    with open_database(must_be_current=False) as sessions:
        before = schema.current_revision(sessions.engine)
        schema.upgrade(sessions.engine)
        after = schema.current_revision(sessions.engine)
    if as_json:
        print_json({"before": before, "after": after})
        return
    if before == after:
        say(Console(), f"the schema is at {after} already")
    else:
        say(Console(), f"the schema went from {before or 'empty'} to {after}")
