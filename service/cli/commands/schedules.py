import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, show_table
from service.cli.wire.schedules import Schedule

app = typer.Typer()

COLUMNS = ("schedule", "cron", "zone", "state", "next start (UTC)", "last night")


@app.command()
def schedules(*, as_json: AsJson = False) -> None:
    """List schedules and when each starts next."""
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/schedules")
    if as_json:
        print_json(found.document)
        return
    table = new_table("", COLUMNS)
    for one in found.read(Schedule):
        state = "active" if one.pause is None else one.pause.label
        following = f"{one.next_starts[0]:%Y-%m-%d %H:%M}" if one.next_starts else "-"
        last = one.last_held
        held = "" if last is None else f"{last.label} against {last.baseline}"
        table.add_row(*map(cell, (one.name, one.cron, one.zone, state, following, held)))
    show_table(Console(), table, empty="no schedules")
