import sys
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.curve_table import show_curves
from service.cli.failures import UsageError
from service.cli.options import AsJson
from service.cli.terminal import print_json
from service.cli.wire.curves import Curve

app = typer.Typer()


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
    if layout is Layout.NCCL_TESTS and as_json:
        raise UsageError("--format nccl-tests is text, not JSON; leave out one of the two")
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
    show_curves(Console(), found.read(Curve))
