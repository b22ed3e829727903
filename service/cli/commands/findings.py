from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson, Limit
from service.cli.terminal import cell, new_table, print_json, show_table
from service.cli.wire.findings import Finding
from service.figures import signed_percent

app = typer.Typer()

COLUMNS = ("finding", "since (UTC)", "state", "kind", "cause", "effect", "what and where")
OPEN = ("suspect", "confirmed", "acknowledged", "fixed")


@app.command()
def findings(
    *,
    state: Annotated[
        list[str] | None, typer.Option(help="Only in this state; may be repeated.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="level, drift, dispersion, flaky, missing; may be repeated."),
    ] = None,
    cause: Annotated[
        list[str] | None,
        typer.Option(help="method, roll_out, code, node, link, unexplained; may be repeated."),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Only of this schedule.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are recovered or dismissed.")
    ] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List what the nights of schedules show.

    Newest first, each with what changed, since when, where, and the likely cause.
    """
    states = state or ([] if everything else list(OPEN))
    wanted = {"state": states, "kind": kind or [], "cause": cause or [], "policy": policy}
    with Client.connect(load_settings()) as client:
        found = client.collect("/v1/findings", wanted, limit=limit)
    if as_json:
        print_json(found.document)
        return
    table = new_table("", COLUMNS, right=("finding", "effect"))
    for one in found.read(Finding):
        since = f"{one.night.at:%Y-%m-%d %H:%M}"
        effect = signed_percent(one.effect_relative)
        row = (one.id, since, one.state, one.kind, one.cause, effect, one.sentence)
        table.add_row(*map(cell, row))
    show_table(Console(), table, empty="nothing changed")
