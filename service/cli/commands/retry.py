import typer
from rich.console import Console

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepId
from service.cli.terminal import print_json, say
from service.cli.wire.sweeps import Sweep

app = typer.Typer()


@app.command()
def retry(sweep_id: SweepId, *, as_json: AsJson = False) -> None:
    """Queue the failed points of a sweep again."""
    with Client.connect(load_settings()) as client:
        answer = client.post(resource("sweeps", sweep_id, "retry"))
    if as_json:
        print_json(answer.document)
        return
    sweep = answer.read(Sweep)
    queued = sweep.trial_counts.get("queued", 0)
    say(Console(), f"sweep {sweep.id} {sweep.state}: {queued} trials are queued")
