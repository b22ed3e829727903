from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from service.cli import files
from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import print_json, say

app = typer.Typer()

TrialId = Annotated[str, typer.Argument(metavar="TRIAL", help="Id of a trial, as results show it.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Where to write it.", show_default="TRIAL.trace.json.gz"),
]


@app.command()
def profile(trial_id: TrialId, *, output: Output = None, as_json: AsJson = False) -> None:
    """Write the trace of a profiled trial to a file.

    Gzip, for chrome://tracing or ui.perfetto.dev. A sweep with `"profile": true` has one of each
    point's first replicate.
    """
    with Client.connect(load_settings()) as client:
        trace = client.get(resource("trials", trial_id, "profile")).body
    path = output or Path(f"{trial_id}.trace.json.gz")
    files.write(path, trace)
    if as_json:
        print_json({"path": str(path), "num_bytes": len(trace)})
        return
    say(Console(), f"{path}: {len(trace)} bytes")
