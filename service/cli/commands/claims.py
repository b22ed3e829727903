import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import print_json, say
from service.cli.wire.claims import Claim

app = typer.Typer()


@app.command()
def claims(*, as_json: AsJson = False) -> None:
    """Hold two articles about tensor parallelism to what is true.

    Each claim with the article's figure, ours, what stored results say of it, a verdict, and the
    command that shows or measures it.
    """
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/claims")
    if as_json:
        print_json(found.document)
        return
    console = Console()
    for one in found.read(Claim):
        _show(console, one)


def _show(console: Console, one: Claim) -> None:
    say(console, f"{one.number:>2} {one.claim} ({one.source}): {one.verdict}", "bold")
    say(console, f"   article   {one.article}")
    say(console, f"   ours      {one.ours}")
    if one.measured is not None:
        say(console, f"   measured  {one.measured}")
    say(console, f"   shown by  {one.command}", "dim")
