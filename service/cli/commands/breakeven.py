import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepId
from service.cli.terminal import print_json, say
from service.cli.wire.breakeven import BreakEven

app = typer.Typer()


@app.command()
def breakeven(sweep_id: SweepId, *, as_json: AsJson = False) -> None:
    """Show from which batch on compute is longer.

    One line for each series of batches: where compute overtakes exposed communication, and where
    the larger tp_degree starts to pay, each with its interval over replicates.
    """
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/breakeven", {"sweep": sweep_id})
    if as_json:
        print_json(found.document)
        return
    console = Console()
    series = found.read(BreakEven)
    for one in series:
        say(console, one.sentence)
    if not series:
        say(console, "no series has two batches at a tp_degree above 1")
