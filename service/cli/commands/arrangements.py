import typer
from rich.console import Console
from rich.table import Table

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepId
from service.cli.terminal import cell, new_table, print_json, say
from service.cli.wire.arrangements import ArrangedBlock
from service.figures import interval, microseconds

app = typer.Typer()

COLUMNS = ("arrangement", "sent", "step time", "exposed", "kept")
PEAK = "peak MiB"


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
        for one in block.arrangements:
            say(console, f"{one.cost.arrangement}: {one.why}")
        for sentence in block.sentences:
            say(console, sentence, "bold")
    if not blocks:
        say(console, "no block has two arrangements at a tp_degree above 1")


def _table(block: ArrangedBlock) -> Table:
    """No column for the peak where none is known, as on a CPU."""
    peaks = [one.peak_memory_bytes for one in block.arrangements]
    columns = COLUMNS if None in peaks else (*COLUMNS, PEAK)
    table = new_table(block.label, columns, right=columns[1:], whole=columns[:1])
    for one, peak in zip(block.arrangements, peaks, strict=True):
        row = (
            one.cost.arrangement,
            f"{sum(one.cost.num_collectives.values())}, {one.cost.bus_bytes / 1024:.4g} KiB",
            interval(one.step_time_us),
            microseconds(one.exposed_communication_us.median),
            f"{one.kept_bytes / 1024:.4g} KiB",
            *([] if peak is None else [f"{peak / 2**20:.4g}"]),
        )
        table.add_row(*map(cell, row))
    return table
