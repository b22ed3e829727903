from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson, Limit
from service.cli.result_table import show_results
from service.cli.terminal import print_json, say
from service.cli.wire.results import Result

app = typer.Typer()


@app.command()
def results(
    *,
    sweep: Annotated[str | None, typer.Option(help="Only of this sweep.")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this model.")] = None,
    block: Annotated[str | None, typer.Option(help="mlp, attention or layer.")] = None,
    phase: Annotated[str | None, typer.Option(help="train, prefill or decode.")] = None,
    tp_degree: Annotated[int | None, typer.Option(help="Only this degree.")] = None,
    batch: Annotated[int | None, typer.Option(help="Only this batch.")] = None,
    limit: Limit = 200,
    as_json: AsJson = False,
) -> None:
    """Show measured points.

    The interval is over replicates, each in its own processes. The speed-up is against tp_degree
    1 of the same sweep and point, where that is among what is shown.
    """
    wanted = {
        "sweep": sweep,
        "model": model,
        "block": block,
        "phase": phase,
        "tp_degree": tp_degree,
        "batch": batch,
    }
    with Client.connect(load_settings()) as client:
        found = client.collect("/v1/results", wanted, limit=limit)
    if as_json:
        print_json(found.document)
        return
    console = Console()
    measured = found.read(Result)
    show_results(console, measured)
    if not measured:
        say(console, "no results")
    if found.next_cursor is not None:
        say(console, f"there are more than {limit}; --limit shows them")
