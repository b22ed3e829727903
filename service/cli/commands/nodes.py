import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, show_table
from service.cli.wire.nodes import Node

app = typer.Typer()

COLUMNS = ("node", "accelerator", "devices", "slots", "pool", "last seen (UTC)")


@app.command()
def nodes(*, as_json: AsJson = False) -> None:
    """List the machines that measure."""
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/nodes")
    if as_json:
        print_json(found.document)
        return
    table = new_table("", COLUMNS, right=("devices", "slots"))
    for node in found.read(Node):
        seen = f"{node.last_seen_at:%Y-%m-%d %H:%M:%S}"
        kind = node.hardware
        row = (node.name, kind.accelerator, kind.num_devices, node.num_slots, node.pool, seen)
        table.add_row(*map(cell, row))
    show_table(Console(), table, empty="no dispatcher has seen a machine yet")
