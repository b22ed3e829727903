import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client, new_key
from service.cli.configuration import load_settings
from service.cli.failures import RefusedError
from service.cli.options import AsJson
from service.cli.terminal import print_json, say
from service.cli.watching import show_progress
from service.cli.wire.claims import Claim
from service.cli.wire.sweeps import Sweep

app = typer.Typer()

MOST_S = 420.0
"""For one sweep; what is left of it then is cancelled."""
BRIEF = {"replicates": 2, "sampling": {"max_time_s": 0.2}}


@app.command()
def claims(
    *,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="First measure here, briefly, what was not measured yet."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hold two articles about tensor parallelism to what is true.

    Each claim with the article's figure, ours, what stored results say of it, a verdict, and the
    command that shows or measures it.
    """
    console = Console(stderr=as_json)
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/claims")
        if measure:
            _measure(client, found.read(Claim), console=console)
            found = client.whole_list("/v1/claims")
    if as_json:
        print_json(found.document)
        return
    for one in found.read(Claim):
        _show(console, one)


def _measure(client: Client, found: Sequence[Claim], *, console: Console) -> None:
    """Run each sweep once, however many claims it is for; one that cannot run here says why."""
    numbers: dict[str, list[str]] = {}
    for one in found:
        if one.sweep is not None:
            body = json.dumps({**one.sweep, **BRIEF})
            numbers.setdefault(body, []).append(str(one.number))
    for body, asked in numbers.items():
        say(console, f"measuring for claim {', '.join(asked)}")
        try:
            sweep = client.post("/v1/sweeps", body.encode(), key=new_key()).read(Sweep)
        except RefusedError as refusal:
            say(console, refusal.lines[-1])
        else:
            show_progress(client, sweep.id, console=console, limit_s=MOST_S)


def _show(console: Console, one: Claim) -> None:
    say(console, f"{one.number:>2} {one.claim} ({one.source}): {one.verdict}", "bold")
    say(console, f"   article   {one.article}")
    say(console, f"   ours      {one.ours}")
    if one.measured is not None:
        say(console, f"   measured  {one.measured}")
    say(console, f"   shown by  {one.command}", "dim")
