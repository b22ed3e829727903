import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, show_table
from service.cli.wire.findings import Policy

app = typer.Typer()

COLUMNS = ("schedule", "sweeps judged", "confirmed", "turned out", "true of those", "slower")


@app.command()
def policies(*, as_json: AsJson = False) -> None:
    """Show how good the judgements of each schedule were.

    By what became of its findings: dismissed or withdrawn ones were mistakes.
    """
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/policies")
    if as_json:
        print_json(found.document)
        return
    table = new_table("", COLUMNS, right=COLUMNS[1:])
    for one in found.read(Policy):
        precision = "cannot tell" if one.precision is None else f"{one.precision:.0%}"
        slower = "-" if one.share_slower is None else f"{one.share_slower:.0%}"
        counts = (one.num_nights, one.num_confirmed, one.num_decided)
        table.add_row(*map(cell, (one.policy, *counts, precision, slower)))
    show_table(Console(), table, empty="no schedule has been judged yet")
