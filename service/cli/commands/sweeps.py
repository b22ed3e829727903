from datetime import datetime
from textwrap import shorten
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, Limit
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.watching import describe
from service.cli.wire.sweeps import Point, Sweep

app = typer.Typer()

COLUMNS = ("sweep", "state", "trials", "created", "by")
ID_WIDTH = 36
MOST_PROBLEMS = 20
LOG_LINES = 5


@app.command()
def sweeps(
    sweep_id: Annotated[str | None, typer.Argument(help="Show this one.")] = None,
    *,
    state: Annotated[str | None, typer.Option(help="Only in this state.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only with this tag, KEY=VALUE.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only created since (UTC).")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List sweeps, or show one with what went wrong."""
    with Client.connect(load_settings()) as client:
        if sweep_id is not None:
            _show_one(client, sweep_id, as_json=as_json)
            return
        after = None if since is None else since.isoformat() + "Z"
        wanted = {"state": state, "tag": tag, "since": after}
        found = client.collect("/v1/sweeps", wanted, limit=limit)
    if as_json:
        print_json(found.document)
        return
    table = new_table("", COLUMNS, right=("trials",), whole=("sweep", "state"))
    for sweep in found.read(Sweep):
        trials = f"{sweep.progress.num_done}/{sweep.progress.num_trials}"
        created = f"{sweep.created_at:%m-%d %H:%M}"
        row = (sweep.state, trials, created, sweep.created_by)
        table.add_row(_identity(sweep), *map(cell, row))
    show_table(Console(), table, empty="no sweeps")


def _identity(sweep: Sweep) -> Text:
    """The id, of use whole alone, and below it the name: side by side they are a line too wide."""
    name = cell(shorten(sweep.name, ID_WIDTH, placeholder="…"), "dim")
    return Text("\n").join([cell(sweep.id), *([name] if sweep.name else [])])


def _show_one(client: Client, sweep_id: str, *, as_json: bool) -> None:
    answer = client.get(resource("sweeps", sweep_id))
    if as_json:
        print_json(answer.document)
        return
    sweep, console = answer.read(Sweep), Console()
    say(console, f"{sweep.id} {sweep.name}", "bold")
    done = f"{sweep.progress.num_done} of {sweep.progress.num_trials} trials"
    say(console, f"{describe(sweep)}: {done}, {sweep.num_points} points")
    for wanted in ("failed", "partial", "rejected"):
        path = resource("sweeps", sweep_id, "points")
        found = client.collect(path, {"state": wanted}, limit=MOST_PROBLEMS)
        for point in found.read(Point):
            _explain(console, point)
        if found.next_cursor is not None:
            say(console, f"  … and more points {wanted}")


def _explain(console: Console, point: Point) -> None:
    if point.rejection is not None:
        say(console, f"  rejected: {point.rejection.label}")
    if point.error is not None:
        say(console, f"  {point.state}: {point.spec.label}: {point.error.label}")
        say(console, f"      {point.error.message}")
        for line in point.error.log_tail.splitlines()[-LOG_LINES:]:
            say(console, f"      | {line}", "dim")
