import typer
from rich.console import Console
from rich.table import Table

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.formats import interval, microseconds
from service.cli.options import AsJson, SweepId
from service.cli.terminal import cell, new_table, print_json, say
from service.cli.wire.arrangements import ArrangedBlock

app = typer.Typer()

COLUMNS = (
    *("arrangement", "collectives", "KiB sent", "step time", "exposed", "kept KiB", "peak MiB"),
    "against the cheapest",
)


@app.command()
def arrangements(sweep_id: SweepId, *, as_json: AsJson = False) -> None:
    """Show what each way to cut a block costs.

    Collectives, bytes over the slowest link and activations kept for backward are arithmetic, of
    one rank and one step; step time, exposed communication and peak memory are measured. The
    cheapest by arithmetic comes first.
    """
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/arrangements", {"sweep": sweep_id})
    if as_json:
        print_json(found.document)
        return
    console = Console()
    blocks = found.read(ArrangedBlock)
    for block in blocks:
        console.print(_table(block))
        for sentence in block.sentences:
            say(console, sentence)
    if not blocks:
        say(console, "no block has two arrangements at a tp_degree above 1")


def _table(block: ArrangedBlock) -> Table:
    table = new_table(block.spec.label, COLUMNS, right=COLUMNS[1:-1])
    for one in block.arrangements:
        peak = one.peak_memory_bytes
        row = (
            one.cost.arrangement,
            sum(one.cost.num_collectives.values()),
            f"{one.cost.bus_bytes / 1024:.4g}",
            interval(one.step_time_us),
            microseconds(one.exposed_communication_us.median),
            f"{one.kept_bytes / 1024:.4g}",
            "" if peak is None else f"{peak / 2**20:.4g}",
            one.why,
        )
        table.add_row(*map(cell, row))
    return table
