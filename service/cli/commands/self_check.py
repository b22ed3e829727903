from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.options import AsJson, Tolerance
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.wire.self_check import SelfCheck

app = typer.Typer()

COLUMNS = ("asked for (UTC)", "sweep", "pairs", "alarms", "largest change")


@app.command()
def self_check(
    schedule: Annotated[
        str | None, typer.Option(help="Only the A/A control of this schedule.")
    ] = None,
    *,
    tolerance: Tolerance = None,
    as_json: AsJson = False,
) -> None:
    """Show how often a point is called different from itself.

    Over the newest pairs of equal points that took turns, among them the A/A controls of schedules.
    The exit code is 1 where that is surely more often than promised, or one side is favoured.
    """
    wanted = {"schedule": schedule, "tolerance": tolerance}
    with Client.connect(load_settings()) as client:
        answer = client.get("/v1/self-check", wanted)
    found = answer.read(SelfCheck)
    if as_json:
        print_json(answer.document)
    else:
        _show(found)
    is_sound = found.is_kept is not False and found.is_one_sided is not True
    raise typer.Exit(ExitCode.OK if is_sound else ExitCode.NEGATIVE)


def _show(found: SelfCheck) -> None:
    console = Console()
    table = new_table("", COLUMNS, right=("sweep", "pairs", "alarms", "largest change"))
    for one in found.nights:
        when, change = f"{one.created_at:%Y-%m-%d %H:%M}", f"{one.largest_change:.1%}"
        counts = str(one.num_pairs), str(one.num_alarms)
        table.add_row(*map(cell, (when, one.sweep_id, *counts, change)))
    show_table(console, table, empty="no A/A control has been measured")
    say(console, found.sentence, "bold")
