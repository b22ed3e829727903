import typer
from rich.console import Console

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepId
from service.cli.terminal import print_json, say
from service.cli.wire.sweeps import Sweep

app = typer.Typer()


@app.command()
def cancel(sweep_id: SweepId, *, as_json: AsJson = False) -> None:
    """Stop what is left of a sweep.

    What was measured is kept; a running group stops within seconds.
    """
    with Client.connect(load_settings()) as client:
        answer = client.post(resource("sweeps", sweep_id, "cancel"))
    if as_json:
        print_json(answer.document)
        return
    sweep = answer.read(Sweep)
    kept = f"{sweep.trial_counts.get('succeeded', 0)} of {sweep.progress.num_trials} trials"
    say(Console(), f"sweep {sweep.id} {sweep.state}: {kept} are kept")
