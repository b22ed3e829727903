from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client, new_key, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepFile
from service.cli.sweep_file import read_sweep_file
from service.cli.terminal import print_json, say
from service.cli.watching import exit_code_of, show_progress
from service.cli.wire.sweeps import Sweep

app = typer.Typer()


@app.command()
def submit(
    file: SweepFile,
    *,
    wait: Annotated[bool, typer.Option(help="Follow it until it ends.")] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Submit once, however often this command runs with it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Queue a sweep from a JSON file, or from - for stdin.

    With --wait the exit code is 1 unless everything succeeded.
    """
    body = read_sweep_file(file)
    with Client.connect(load_settings()) as client:
        answer = client.post("/v1/sweeps", body, key=idempotency_key or new_key())
        sweep = answer.read(Sweep)
        if as_json and not wait:
            print_json(answer.document)
            return
        console = Console(stderr=as_json)
        _announce(sweep, console=console)
        if not wait:
            say(console, f"follow it with: tpsweep watch {sweep.id}")
            return
        sweep = show_progress(client, sweep.id, console=console)
        if as_json:
            print_json(client.get(resource("sweeps", sweep.id)).document)
    raise typer.Exit(exit_code_of(sweep))


def _announce(sweep: Sweep, *, console: Console) -> None:
    size = f"{sweep.num_points} points, {sweep.progress.num_trials} trials"
    say(console, f"sweep {sweep.id}: {size}")
    if sweep.num_rejected:
        cannot = f"{sweep.num_rejected} combinations cannot be measured"
        say(console, f"{cannot}; tpsweep sweeps {sweep.id} says why")
