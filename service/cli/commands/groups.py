from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, say
from service.cli.wire.groups import Groups
from service.figures import interval

app = typer.Typer()

COLUMNS = ("point", "fresh", "regrouped", "width", "holds fresh median")


@app.command()
def groups(
    fresh: Annotated[str, typer.Argument(help="Id of a sweep in fresh processes.")],
    regrouped: Annotated[str, typer.Argument(help='Id of one with "group_kind": "regrouped".')],
    *,
    as_json: AsJson = False,
) -> None:
    """Show how wrong intervals over warm processes are.

    The width is that of the interval over re-formed groups, over that of fresh processes.
    """
    with Client.connect(load_settings()) as client:
        answer = client.get("/v1/groups", {"fresh": fresh, "regrouped": regrouped})
    if as_json:
        print_json(answer.document)
        return
    found, console = answer.read(Groups), Console()
    if found.points:
        table = new_table("", COLUMNS, right=COLUMNS[1:4])
        for point in found.points:
            table.add_row(
                cell(point.spec.label),
                cell(interval(point.fresh)),
                cell(interval(point.regrouped)),
                cell(f"{point.width_ratio:.2f}x"),
                cell("yes" if point.holds_fresh_median else "no"),
            )
        console.print(table)
    say(console, found.sentence, "bold")
