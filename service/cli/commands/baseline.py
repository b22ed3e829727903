import json
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepId
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.wire.baselines import Baseline, Candidates

app = typer.Typer(no_args_is_help=True, help="Pin sweeps under names to hold others against.")

Name = Annotated[str, typer.Argument(help="The baseline's name.", show_default=False)]

COLUMNS = ("baseline", "sweep", "note", "expires (UTC)")
CANDIDATE_COLUMNS = ("sweep", "baseline", "kind", "why")


@app.command()
def pin(
    name: Name,
    sweep_id: SweepId,
    *,
    note: Annotated[str | None, typer.Option(help="Why it is one.")] = None,
    days: Annotated[
        int | None, typer.Option(help="Stands so long; without, for good.", min=1, max=36500)
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="The name is there: let it stand for this sweep.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Pin a sweep under a name that `compare` and `check` take in place of its id."""
    asked: dict[str, JsonValue] = {"sweep": sweep_id}
    if note is not None:
        asked["note"] = note
    if days is not None:
        asked["expires_at"] = _in_days(days)
    with Client.connect(load_settings()) as client:
        if move:
            answer = client.patch(resource("baselines", name), json.dumps(asked).encode())
        else:
            answer = client.post("/v1/baselines", json.dumps({"name": name, **asked}).encode())
    if as_json:
        print_json(answer.document)
        return
    pinned = answer.read(Baseline)
    say(Console(), f"baseline {pinned.name} stands for sweep {pinned.sweep_id}")


@app.command("list")
def show(*, as_json: AsJson = False) -> None:
    """List baselines, expired ones too."""
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/baselines")
    if as_json:
        print_json(found.document)
        return
    table = new_table("", COLUMNS)
    for one in found.read(Baseline):
        expires = "never" if one.expires_at is None else f"{one.expires_at:%Y-%m-%d %H:%M}"
        shown = f"{expires} (expired)" if one.is_expired else expires
        table.add_row(*map(cell, (one.name, one.sweep_id, one.note, shown)))
    show_table(Console(), table, empty="no baselines")


@app.command()
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="What it is called from now on.", show_default=False)],
    *,
    as_json: AsJson = False,
) -> None:
    """Call a baseline something else, also in the schedules that are held against it."""
    with Client.connect(load_settings()) as client:
        answer = client.patch(resource("baselines", name), json.dumps({"name": new}).encode())
    if as_json:
        print_json(answer.document)
    else:
        say(Console(), f"baseline {name} is called {answer.read(Baseline).name}")


@app.command()
def expire(
    name: Name,
    *,
    days: Annotated[
        int | None, typer.Option(help="From now on; without, never.", min=1, max=36500)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a baseline stand so many days more, or for good."""
    body = json.dumps({"expires_at": None if days is None else _in_days(days)}).encode()
    with Client.connect(load_settings()) as client:
        answer = client.patch(resource("baselines", name), body)
    changed = answer.read(Baseline)
    if as_json:
        print_json(answer.document)
    elif changed.expires_at is None:
        say(Console(), f"baseline {name} never expires")
    else:
        say(Console(), f"baseline {name} expires at {changed.expires_at:%Y-%m-%d %H:%M} UTC")


@app.command()
def remove(name: Name, *, as_json: AsJson = False) -> None:
    """Forget a name; the sweep it stood for stays."""
    with Client.connect(load_settings()) as client:
        client.delete(resource("baselines", name))
    if as_json:
        print_json({"removed": name})
    else:
        say(Console(), f"baseline {name} is removed")


@app.command()
def candidates(sweep_id: SweepId, *, as_json: AsJson = False) -> None:
    """Show what a sweep may be held against, and which earlier ones will not do and why."""
    with Client.connect(load_settings()) as client:
        answer = client.get(resource("sweeps", sweep_id, "baselines"))
    if as_json:
        print_json(answer.document)
        return
    found, console = answer.read(Candidates), Console()
    table = new_table("", CANDIDATE_COLUMNS, right=("sweep",))
    for one in found.candidates:
        table.add_row(*map(cell, (one.sweep_id, one.name or "", one.kind, one.reason)))
    show_table(console, table, empty=found.sentence)
    for other in found.passed_over:
        say(console, f"passed over: sweep {other.sweep_id}: {other.reason}", "dim")


def _in_days(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()
