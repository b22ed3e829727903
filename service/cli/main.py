import importlib
import sys
from typing import Annotated

import typer
import typer.main

from service.cli.escaping import printable
from service.cli.exits import ExitCode
from service.cli.failures import CliError
from service.cli.lazy import LazyGroup
from service.errors import ServiceError

EPILOG = "\n\n".join(["Exit codes:", *(f"{code.value:>3}  {code.meaning}" for code in ExitCode)])

FIRST_SERVER_ERROR = 500

app = typer.Typer(
    name="tpsweep",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=EPILOG,
)


def show(wanted: bool) -> None:  # noqa: FBT001 - called by position
    """Print the version and end, where it was asked for."""
    if wanted:
        metadata = importlib.import_module("importlib.metadata")  # 40 ms that `--help` saves
        sys.stdout.write(f"tpsweep {metadata.version('tpsweep')}\n")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=show, is_eager=True)
    ] = False,
) -> None:
    """Measure tensor parallelism on real hardware and remember it.

    Clients find the server through TPSWEEP_URL and show it TPSWEEP_TOKEN.
    """
    del version


def main() -> None:
    """Run the command line; expected failures end in a message and an exit code."""
    try:
        typer.main.get_command(app).main(prog_name="tpsweep")
    except CliError as error:
        _report(error.lines)
        sys.exit(error.exit_code)
    except ServiceError as error:
        _report((error.title, error.detail, *(f"{e.pointer}: {e.detail}" for e in error.errors)))
        is_refusal = error.status < FIRST_SERVER_ERROR
        sys.exit(ExitCode.REFUSED if is_refusal else ExitCode.CANNOT_START)


def _report(lines: tuple[str, ...]) -> None:
    first, *rest = lines
    sys.stderr.write(f"tpsweep: {printable(first)}\n")
    for line in rest:
        sys.stderr.write(f"  {printable(line)}\n")
