from collections.abc import Mapping
from functools import partial
from itertools import chain
from pathlib import PurePath
from typing import Annotated, BinaryIO

import typer
from rich.console import Console

from service.cli import files
from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.failures import UsageError
from service.cli.foreign_file import is_exported, media_type
from service.cli.options import AsJson
from service.cli.terminal import print_json, say
from service.cli.wire.curves import Import
from service.cli.wire.results import Merge

app = typer.Typer()

PATH = "/v1/results/import"
PIECE = 1 << 16


@app.command()
def import_results(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What to bring in; - is stdin.")],
    *,
    hardware: Annotated[
        str | None, typer.Option(help="Of nccl-tests: name under which predictions find it.")
    ] = None,
    op: Annotated[str | None, typer.Option(help="Where the file does not name it.")] = None,
    num_ranks: Annotated[int | None, typer.Option(help="Where no column tells.", min=1)] = None,
    num_nodes: Annotated[int | None, typer.Option(help="Machines they were on.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Bring in what was measured elsewhere.

    Either JSON lines of `tpsweep export`, merged by id: the same file again is no change. Or what
    nccl-tests printed: text of any version, with whatever a launcher or a log wrote into it, or the
    JSON of `-J`. Rows that are cut or contradict themselves are left out and named.
    """
    told = {
        "hardware": hardware,
        "op": op,
        "num_ranks": num_ranks,
        "num_nodes": num_nodes,
        "source": None if file == "-" else PurePath(file).name[:200],
    }
    with files.reading(file) as source, Client.connect(load_settings()) as client:
        first = source.readline()
        if is_exported(first):
            _merge(client, first, source, as_json=as_json)
        else:
            _take_curves(client, first + source.read(), told, file=file, as_json=as_json)


def _merge(client: Client, first: bytes, rest: BinaryIO, *, as_json: bool) -> None:
    chunks = chain((first,), iter(partial(rest.read, PIECE), b""))
    answer = client.upload(PATH, chunks, content_type="application/x-ndjson")
    found = answer.read(Merge)
    if as_json:
        print_json(answer.document)
    else:
        console = Console()
        for line in found.refused:
            say(console, f"  line {line.line} left out: {line.reason}", "yellow")
        say(console, found.sentence)
    raise typer.Exit(ExitCode.NEGATIVE if found.num_refused else ExitCode.OK)


def _take_curves(
    client: Client,
    body: bytes,
    told: Mapping[str, str | int | None],
    *,
    file: str,
    as_json: bool,
) -> None:
    if not body.strip():
        raise UsageError(f"{files.shown(file)} is empty")
    if told["hardware"] is None:
        raise UsageError("--hardware is needed for what nccl-tests printed")
    answer = client.post(PATH, body, content_type=media_type(body), parameters=told)
    if as_json:
        print_json(answer.document)
    else:
        _show(Console(), answer.read(Import))


def _show(console: Console, found: Import) -> None:
    for curve in found.curves:
        say(console, f"{curve.label}: {len(curve.rows)} rows")
        for doubt in curve.doubts:
            say(console, f"  {doubt.label}", "bold yellow")
    for row in found.skipped:
        say(console, f"  line {row.line} left out: {row.reason}", "yellow")
    for warning in found.warnings:
        say(console, f"  {warning}", "yellow")
    if not found.num_new_curves:
        say(console, "all of it was there already")
