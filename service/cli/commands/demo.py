import contextlib
import signal
import time
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client, new_key, resource
from service.cli.configuration import load_settings
from service.cli.demonstration import own_service
from service.cli.options import AsJson, SweepFile
from service.cli.result_table import show_results
from service.cli.steps import Steps
from service.cli.sweep_file import read_sweep_file
from service.cli.terminal import print_json, say
from service.cli.watching import exit_code_of, show_progress
from service.cli.wire.breakeven import BreakEven
from service.cli.wire.results import Result
from service.cli.wire.sweeps import Sweep

app = typer.Typer()

MOST_RESULTS = 10_000


@app.command()
def demo(
    file: SweepFile,
    *,
    ends: Annotated[bool, typer.Option("--exit", help="Stop everything after the table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start everything, measure a demonstration sweep, show it.

    Then it serves until Ctrl-C, or stops everything with --exit.
    """
    body = read_sweep_file(file)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    console = Console(stderr=as_json)
    steps = Steps(console)
    with own_service(load_settings(), steps, log_name="demo.log") as client:
        sweep = _measure(client, body, steps)
        _show(client, sweep, console=console, as_json=as_json)
        say(console, f"API {client.url}/v1   documentation {client.url}/docs", "bold")
        if not ends:
            _serve_until_interrupted(console)
    raise typer.Exit(exit_code_of(sweep))


def _measure(client: Client, body: bytes, steps: Steps) -> Sweep:
    sweep = client.post("/v1/sweeps", body, key=new_key()).read(Sweep)
    size = f"{sweep.num_points} points x {sweep.progress.num_trials // sweep.num_points} replicates"
    steps.say(f"sweep {sweep.id}: {size}, each replicate in fresh processes")
    sweep = show_progress(client, sweep.id, console=steps.console)
    steps.say(f"sweep {sweep.state}")
    return sweep


def _show(client: Client, sweep: Sweep, *, console: Console, as_json: bool) -> None:
    results = client.collect("/v1/results", {"sweep": sweep.id}, limit=MOST_RESULTS)
    breakeven = client.whole_list("/v1/breakeven", {"sweep": sweep.id})
    if as_json:
        state = client.get(resource("sweeps", sweep.id)).document
        shown = {"results": results.items, "breakeven": breakeven.items}
        print_json({"sweep": state, **shown})
        return
    show_results(console, results.read(Result))
    for series in breakeven.read(BreakEven):
        say(console, f"break-even  {series.sentence}")


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _serve_until_interrupted(console: Console) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        say(console, "serving until Ctrl-C")
        while True:
            time.sleep(3600)
