from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from service.cli.answers import Listing
from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.wire.recommendation import DegreeRange, Recommendation
from service.figures import gigabytes, microseconds, percent

app = typer.Typer()

CANDIDATES = ("tp", "GB of one GPU", "layer", "comm", "from", "why")
RANGES = ("model", "parameters", "accelerator", "link", "smallest", "largest", "throughput")


@app.command()
def recommend(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A preset's name; all where not given.")
    ] = None,
    *,
    hardware: Annotated[
        str | None, typer.Option(help="As seen, or as published: H100 SXM; several with commas.")
    ] = None,
    batch: Annotated[str, typer.Option(help="Sequences at a time, as in 1,8,64.")] = "1",
    seq: Annotated[int, typer.Option(help="Tokens of one; in decode the cached ones.")] = 2048,
    phase: Annotated[str, typer.Option(help="train, prefill or decode.")] = "decode",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "bfloat16",
    objective: Annotated[str, typer.Option(help="latency or throughput.")] = "latency",
    as_json: AsJson = False,
) -> None:
    """Say which TP degree to run a model with.

    From this service's own results for the hardware, at the nearest batch and sequence; where there
    are none, predicted. Several batches or kinds of hardware make a table. Without MODEL: the
    degrees that make sense for every preset on published accelerators.
    """
    wanted = {
        "model": model,
        "hardware": hardware,
        "batch": batch,
        "seq": seq,
        "phase": phase,
        "dtype": dtype,
        "objective": objective,
    }
    with Client.connect(load_settings()) as client:
        if model is None:
            _show_ranges(client.whole_list("/v1/recommendation/ranges"), as_json=as_json)
            return
        found = client.whole_list("/v1/recommendation", wanted)
    answers = found.read(Recommendation)
    if as_json:
        print_json(found.document)
    elif len(answers) == 1:
        _show_one(answers[0])
    else:
        _show_grid(model, answers)
    if all(one.tp_degree is None for one in answers):
        raise typer.Exit(ExitCode.NEGATIVE)


def _show_one(found: Recommendation) -> None:
    console = Console()
    say(console, found.sentence, "bold")
    table = new_table("", CANDIDATES, right=CANDIDATES[:4])
    for one in found.candidates:
        row = (
            one.tp_degree,
            gigabytes(one.needed_bytes or 0),
            "" if one.step_time_us is None else microseconds(one.step_time_us),
            percent(one.communication_share),
            one.basis,
            one.reason,
        )
        table.add_row(*map(cell, row))
    show_table(console, table, empty="no degree was judged")


def _show_grid(model: str, found: Sequence[Recommendation]) -> None:
    """Batches down, hardware across."""
    places = list(dict.fromkeys(one.hardware for one in found))
    degrees = {(one.batch, one.hardware): one for one in found}
    table = new_table(f"{model}: tp_degree", ("batch", *places), right=("batch", *places))
    for batch in dict.fromkeys(one.batch for one in found):
        answers = [degrees.get((batch, place)) for place in places]
        table.add_row(cell(batch), *(cell(_degree(one)) for one in answers))
    show_table(Console(), table, empty="nothing was asked for")


def _degree(one: Recommendation | None) -> str:
    if one is None or one.tp_degree is None:
        return "none"
    return f"{one.tp_degree} {one.basis or 'by memory'}"


def _show_ranges(found: Listing, *, as_json: bool) -> None:
    if as_json:
        print_json(found.document)
        return
    table = new_table("decode of one sequence, bfloat16, by published figures", RANGES)
    for one in found.read(DegreeRange):
        size = f"{one.num_parameters / 1e9:.1f}e9"
        limits = (one.smallest or "none", one.largest or "none", one.throughput or "none")
        table.add_row(*map(cell, (one.model, size, one.hardware, one.link, *limits)))
    show_table(Console(), table, empty="no model is known")
