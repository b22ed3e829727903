from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from service.cli import files
from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import print_json, say

app = typer.Typer()


class Format(StrEnum):
    """How results are written."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


@app.command()
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is stdout.")],
    *,
    form: Annotated[Format, typer.Option("--format", help="How.")] = Format.JSONL,
    samples: Annotated[bool, typer.Option("--samples", help="With every timed step.")] = False,
    sweep: Annotated[list[str] | None, typer.Option(help="Only of this sweep.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag, key=value.")] = None,
    hardware: Annotated[list[str] | None, typer.Option(help="Only on this hardware.")] = None,
    node: Annotated[list[str] | None, typer.Option(help="Only on this node.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write results to a file, for another instance or a table.

    jsonl holds all of each result, and `tpsweep import` takes it elsewhere. csv and parquet have a
    row of figures for each trial of a point. Several values of an option mean any of them, several
    tags all.
    """
    wanted = {
        "format": form.value,
        "include": "samples" if samples else None,
        "sweep": sweep,
        "tag": tag,
        "hardware": hardware,
        "node": node,
    }
    with Client.connect(load_settings()) as client:
        size = files.write_all(file, client.download("/v1/results/export", wanted))
    if as_json and file != "-":
        print_json({"file": file, "num_bytes": size})
    elif file != "-":
        say(Console(stderr=True), f"{file}: {size} bytes")
