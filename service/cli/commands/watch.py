import typer
from pydantic import JsonValue, TypeAdapter, ValidationError
from rich.console import Console

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.follow import events
from service.cli.options import AsJson, SweepId
from service.cli.terminal import print_json, say
from service.cli.watching import exit_code_of, show_progress
from service.cli.wire.sweeps import Sweep

app = typer.Typer()


@app.command()
def watch(sweep_id: SweepId, *, as_json: AsJson = False) -> None:
    """Follow a sweep until it ends.

    The exit code is 1 unless everything succeeded. With --json each event is a line, and the
    finished sweep is the last.
    """
    with Client.connect(load_settings()) as client:
        sweep = _as_json(client, sweep_id) if as_json else _as_bar(client, sweep_id)
    raise typer.Exit(exit_code_of(sweep))


def _as_bar(client: Client, sweep_id: str) -> Sweep:
    console = Console()
    sweep = show_progress(client, sweep_id, console=console)
    say(console, f"sweep {sweep.id} {sweep.state}: tpsweep results --sweep {sweep.id}")
    return sweep


def _as_json(client: Client, sweep_id: str) -> Sweep:
    for event in events(client, sweep_id):
        print_json({"id": event.id, "event": event.event, "data": _decoded(event.data)})
    answer = client.get(resource("sweeps", sweep_id))
    print_json({"id": None, "event": "end", "data": answer.document})
    return answer.read(Sweep)


def _decoded(data: str) -> JsonValue:
    try:
        return TypeAdapter[JsonValue](JsonValue).validate_json(data)
    except ValidationError:
        return data
