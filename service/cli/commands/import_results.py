from pathlib import PurePath
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.foreign_file import media_type, read_file
from service.cli.options import AsJson
from service.cli.terminal import print_json, say
from service.cli.wire.curves import Import

app = typer.Typer()


@app.command()
def import_results(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Text or JSON; - reads stdin.")],
    *,
    hardware: Annotated[str, typer.Option(help="Name under which predictions find it.")],
    op: Annotated[str | None, typer.Option(help="Where the file does not name it.")] = None,
    num_ranks: Annotated[int | None, typer.Option(help="Where no column tells.", min=1)] = None,
    num_nodes: Annotated[int | None, typer.Option(help="Machines they were on.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Bring in what nccl-tests printed.

    Text of any version, with whatever a launcher or a log wrote into it, or the JSON of `-J`. Rows
    that are cut or contradict themselves are left out and named. The same file again is no change.
    """
    body = read_file(file)
    told = {
        "hardware": hardware,
        "op": op,
        "num_ranks": num_ranks,
        "num_nodes": num_nodes,
        "source": None if file == "-" else PurePath(file).name[:200],
    }
    with Client.connect(load_settings()) as client:
        answer = client.post(
            "/v1/results/import", body, content_type=media_type(body), parameters=told
        )
    found = answer.read(Import)
    if as_json:
        print_json(answer.document)
        return
    console = Console()
    for curve in found.curves:
        say(console, f"{curve.label}: {len(curve.rows)} rows")
        for doubt in curve.doubts:
            say(console, f"  check the configuration: {doubt.label}", "bold yellow")
    for row in found.skipped:
        say(console, f"  line {row.line} left out: {row.reason}", "yellow")
    for warning in found.warnings:
        say(console, f"  {warning}", "yellow")
    if not found.num_new_curves:
        say(console, "all of it was there already")
