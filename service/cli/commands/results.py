from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from rich.console import Console

from service.cli.answers import Listing
from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, Limit
from service.cli.result_details import show_details
from service.cli.result_table import show_predictions, show_results
from service.cli.terminal import print_json, say
from service.cli.wire.result_details import Details
from service.cli.wire.results import Result

app = typer.Typer()


@app.command()
def results(  # noqa: PLR0913 - one option for each axis
    *,
    sweep: Annotated[str | None, typer.Option(help="Only of this sweep.")] = None,
    model: Annotated[str | None, typer.Option(help="Only of this model.")] = None,
    block: Annotated[str | None, typer.Option(help="mlp, attention or layer.")] = None,
    phase: Annotated[str | None, typer.Option(help="train, prefill or decode.")] = None,
    tp_degree: Annotated[int | None, typer.Option(help="Only this degree.")] = None,
    batch: Annotated[int | None, typer.Option(help="Only this batch.")] = None,
    seq: Annotated[int | None, typer.Option(help="Only this sequence length.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Only this element type.")] = None,
    arrangement: Annotated[str | None, typer.Option(help="Only cut this way.")] = None,
    collective_impl: Annotated[str | None, typer.Option(help="Only run by this.")] = None,
    overlap: Annotated[str | None, typer.Option(help="none, backward or chunked.")] = None,
    launch: Annotated[str | None, typer.Option(help="eager or cuda_graph.")] = None,
    details: Annotated[
        bool, typer.Option("--details", help="All of each: trials, host, collectives.")
    ] = False,
    predicted: Annotated[
        bool, typer.Option("--predicted", help="Beside what was predicted before they ran.")
    ] = False,
    limit: Limit = 200,
    as_json: AsJson = False,
) -> None:
    """Show measured points.

    The interval is over replicates, each in its own set of processes. The speed-up is against
    tp_degree 1 of the same sweep and point, where that is among what is shown. With --details
    each point's figures, control, trials, what surrounded them, and flags in words. With
    --predicted the cost model's step time, as it was kept before the point ran.
    """
    wanted = {
        "sweep": sweep,
        "model": model,
        "block": block,
        "phase": phase,
        "tp_degree": tp_degree,
        "batch": batch,
        "seq": seq,
        "dtype": dtype,
        "arrangement": arrangement,
        "collective_impl": collective_impl,
        "overlap": overlap,
        "launch": launch,
    }
    with Client.connect(load_settings()) as client:
        found = client.collect("/v1/results", wanted, limit=limit)
        ids = [one.id for one in found.read(Result)] if details else []
        answers = [client.get(resource("results", one)) for one in ids]
    if as_json:
        print_json([answer.document for answer in answers] if details else found.document)
        return
    shown = show_predictions if predicted else show_results
    _show(found, [answer.read(Details) for answer in answers], shown, limit=limit)


def _show(
    found: Listing,
    detailed: Sequence[Details],
    show: Callable[[Console, Sequence[Result]], None],
    *,
    limit: int,
) -> None:
    console, measured = Console(), found.read(Result)
    for one in detailed:
        show_details(console, one)
    if not detailed:
        show(console, measured)
    if not measured:
        say(console, "no results")
    if found.next_cursor is not None:
        say(console, f"there are more than {limit}; --limit shows them")
