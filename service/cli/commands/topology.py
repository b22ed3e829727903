from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.foreign_file import media_type, read_file
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, say
from service.cli.wire.topology import TopologyReport

app = typer.Typer()

COLUMNS = ("tp", "worst link", "passes", "GPUs")


@app.command()
def topology(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The matrix; - reads stdin.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Explain what `nvidia-smi topo -m` printed.

    For each tp_degree the sets of GPUs whose worst link is best; a set's collectives are as slow
    as its worst link. `nvidia-smi topo -m | tpsweep topology -` explains this machine.
    """
    body = read_file(file)
    with Client.connect(load_settings()) as client:
        answer = client.post("/v1/topology", body, content_type=media_type(body))
    found = answer.read(TopologyReport)
    if as_json:
        print_json(answer.document)
        return
    console = Console()
    table = new_table(f"{found.num_gpus} GPUs, {found.fabric}", COLUMNS, right=("tp",))
    for one in found.tp_degrees:
        sets = "  ".join(",".join(map(str, gpus)) for gpus in one.sets)
        table.add_row(*map(cell, (one.tp_degree, one.worst_link, one.passes, sets)))
    console.print(table)
    for warning in found.warnings:
        say(console, warning, "yellow")
