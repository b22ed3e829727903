import sys
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.formats import microseconds
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, say
from service.cli.wire.curves import Curve, Placement

app = typer.Typer()

COLUMNS = ("bytes", "out of place", "bus GB/s", "in place", "bus GB/s ")


class Layout(StrEnum):
    """How curves are written."""

    TABLE = "table"
    NCCL_TESTS = "nccl-tests"


@app.command()
def curves(
    *,
    hardware: Annotated[str | None, typer.Option(help="Only of this hardware.")] = None,
    op: Annotated[str | None, typer.Option(help="Only of this collective.")] = None,
    layout: Annotated[
        Layout, typer.Option("--format", help="nccl-tests: as that prints them.")
    ] = Layout.TABLE,
    as_json: AsJson = False,
) -> None:
    """Show collective times over message sizes.

    Bus bandwidth is as nccl-tests defines it: what a ring would send over its slowest link.
    """
    wanted = {"hardware": hardware, "op": op}
    with Client.connect(load_settings()) as client:
        if layout is Layout.NCCL_TESTS:
            answer = client.get("/v1/curves", {**wanted, "format": layout})
            sys.stdout.write(answer.body.decode())
            return
        found = client.whole_list("/v1/curves", wanted)
    if as_json:
        print_json(found.document)
        return
    console = Console()
    shown = found.read(Curve)
    for curve in shown:
        table = new_table(curve.label, COLUMNS, right=COLUMNS)
        for row in curve.rows:
            figures = (*_figures(row.out_of_place), *_figures(row.in_place))
            table.add_row(*map(cell, (row.message_bytes, *figures)))
        console.print(table)
        for doubt in curve.doubts:
            say(console, f"check the configuration: {doubt.label}", "bold yellow")
    if not shown:
        say(console, "no curves; tpsweep import brings them in")


def _figures(placement: Placement | None) -> tuple[str, str]:
    if placement is None:
        return "", ""
    return microseconds(placement.time_us), f"{placement.busbw_gb_per_s:.2f}"
