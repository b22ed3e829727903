import contextlib
import signal
import time
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client, new_key, resource
from service.cli.configuration import load_settings
from service.cli.demonstration import LocalService
from service.cli.options import AsJson, SweepFile
from service.cli.result_table import show_results
from service.cli.supervise.preparation import (
    free_port,
    is_port_free,
    prepare_database,
    prepare_home,
)
from service.cli.sweep_file import read_sweep_file
from service.cli.terminal import print_json, say
from service.cli.watching import exit_code_of, show_progress
from service.cli.wire.breakeven import BreakEven
from service.cli.wire.results import Result
from service.cli.wire.sweeps import Sweep
from service.settings import Settings

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
    console, began = Console(stderr=as_json), time.time()
    steps = Steps(console)
    settings = _prepare(load_settings(), steps)
    service = LocalService(settings)
    steps.say(f"starting the API and the dispatcher; they log to {service.log.path}")
    with service.running(), Client.connect(settings) as client:
        service.wait_for_api(client)
        steps.say(f"the API answers at {client.url}; waiting for Ray and the devices")
        for node in service.wait_for_nodes(client, since=began):
            steps.say(f"{node.name}: {node.hardware.accelerator}, room for {node.num_slots} ranks")
        sweep = _measure(client, body, steps)
        _show(client, sweep, console=console, as_json=as_json)
        say(console, f"API {client.url}/v1   documentation {client.url}/docs", "bold")
        if not ends:
            _serve_until_interrupted(console)
        steps.say("stopping")
    steps.say("everything is stopped")
    raise typer.Exit(exit_code_of(sweep))


class Steps:
    """Says what is being done, with the seconds since the start."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """One step."""
        say(self.console, f"[{time.monotonic() - self._began:5.1f} s] {text}")


def _prepare(settings: Settings, steps: Steps) -> Settings:
    """Make home and schema; take another port where the usual one is in use."""
    prepare_home(settings)
    steps.say(f"database {prepare_database(settings)}")
    port = settings.port
    if port == 0 or not is_port_free(settings.host, port):
        port = free_port(settings.host)
        if settings.port:
            steps.say(f"port {settings.port} is in use, taking {port}")
    return settings.model_copy(update={"port": port, "url": ""})


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
