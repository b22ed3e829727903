import sys
from typing import Annotated

import typer

from service.analysis.changepoints.detector import detect as judge
from service.analysis.changepoints.detector import replay
from service.cli import files
from service.cli.escaping import printable
from service.cli.exits import ExitCode
from service.cli.failures import UsageError
from service.cli.series_lines import SeriesLine, read_series
from service.cli.terminal import print_json

app = typer.Typer()


@app.command()
def detect(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Series as JSON lines; - reads them from stdin.")
    ],
    *,
    online: Annotated[
        bool,
        typer.Option(
            "--online", help="Replay night by night, and say which night first told of a change."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON lines are what it always prints.")
    ] = False,
) -> None:
    """Find change points, drift and spikes in any series; needs no server.

    Each line is {"id": ..., "values": [...]}, one value a night, null where one is missing. The
    answer is one JSON line for each. A line that cannot be read is named on stderr, the others are
    judged all the same, and the exit code is 2.
    """
    del as_json
    num_series = num_bad = 0
    for line in read_series(file):
        num_series += 1
        if isinstance(line, SeriesLine):
            verdict = replay(line.values) if online else judge(line.values)
            print_json({"id": line.id, **verdict.model_dump(mode="json")})
        else:
            num_bad += 1
            sys.stderr.write(f"tpsweep: {printable(line)}\n")
    if not num_series:
        raise UsageError(f"{files.shown(file)} holds no series")
    raise typer.Exit(ExitCode.USAGE if num_bad else ExitCode.OK)
