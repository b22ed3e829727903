from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.roofline_table import show_rooflines
from service.cli.terminal import print_json
from service.cli.wire.roofline import Roofline

app = typer.Typer()


@app.command()
def roofline(
    *,
    hardware: Annotated[str | None, typer.Option(help="Only of this hardware.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what devices make of matrix products.

    Each product by its arithmetic intensity, with its rate drawn up to the lower of both roofs.
    """
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/roofline", {"hardware": hardware})
    if as_json:
        print_json(found.document)
        return
    show_rooflines(Console(), found.read(Roofline))
