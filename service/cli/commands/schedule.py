import json
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepFile
from service.cli.sweep_file import read_sweep_file
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.wire.schedules import Bridge, Decision, Schedule

app = typer.Typer(no_args_is_help=True, help="Measure a sweep again and again.")

Name = Annotated[str, typer.Argument(help="The schedule's name or id.", show_default=False)]

COLUMNS = ("scheduled for (UTC)", "what", "why", "sweep", "against baseline")
MOST_DECISIONS = 14


@app.command()
def create(  # noqa: PLR0913 - one option for each policy
    name: Annotated[str, typer.Argument(help="What it is called.", show_default=False)],
    file: SweepFile,
    *,
    cron: Annotated[str, typer.Option(help="Five fields: '0 2 * * *' is every night at 02:00.")],
    zone: Annotated[str, typer.Option(help="IANA time zone.")] = "UTC",
    baseline: Annotated[str | None, typer.Option(help="Name of a baseline.")] = None,
    catch_up: Annotated[
        str, typer.Option(help="What of missed starts is made up for: skip, latest, all.")
    ] = "latest",
    most_catch_ups: Annotated[int, typer.Option(help="With --catch-up all.")] = 3,
    overlap: Annotated[
        str, typer.Option(help="While one is not over: skip, queue, cancel_previous.")
    ] = "skip",
    aa_control: Annotated[
        bool, typer.Option("--aa-control", help="Also measure a point against itself each time.")
    ] = False,
    jitter: Annotated[int, typer.Option(help="Put off by a fixed part of so many seconds.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure the sweep of a JSON file, or of - for stdin, at every time that cron names."""
    asked: dict[str, JsonValue] = {
        "name": name,
        "cron": cron,
        "zone": zone,
        "sweep": json.loads(read_sweep_file(file)),
        "baseline": baseline,
        "catch_up": catch_up,
        "most_catch_ups": most_catch_ups,
        "overlap": overlap,
        "jitter_s": jitter,
        "aa_control": aa_control,
    }
    with Client.connect(load_settings()) as client:
        answer = client.post("/v1/schedules", json.dumps(asked).encode())
    if as_json:
        print_json(answer.document)
    else:
        _describe(answer.read(Schedule))


@app.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show when it starts next, and what became of its last times and why."""
    with Client.connect(load_settings()) as client:
        answer = client.get(resource("schedules", name))
        found = client.collect(resource("schedules", name, "decisions"), {}, limit=MOST_DECISIONS)
        swapped = client.whole_list(resource("schedules", name, "bridges"), {})
    if as_json:
        lists = {"decisions": found.document, "bridges": swapped.document}
        print_json({"schedule": answer.document, **lists})
        return
    _describe(answer.read(Schedule))
    table = new_table("", COLUMNS, right=("sweep",))  # an id is of use whole
    for one in found.read(Decision):
        when = f"{one.scheduled_for:%Y-%m-%d %H:%M}"
        held = "" if one.held is None else one.held.label
        table.add_row(*map(cell, (when, one.action, one.reason, one.sweep_id, held)))
    show_table(Console(), table, empty="it has not named a time yet")
    for bridge in swapped.read(Bridge):
        say(Console(), f"{bridge.first.at:%Y-%m-%d %H:%M} {bridge.sentence}")


@app.command()
def pause(
    name: Name,
    *,
    reason: Annotated[str, typer.Option(help="Kept beside every start that is left out.")],
    hours: Annotated[
        float | None, typer.Option(help="Ends by itself after so long.", min=0.01, max=87600)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start nothing until it is resumed."""
    until = None if hours is None else (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    body = json.dumps({"reason": reason, "until": until}).encode()
    _change(resource("schedules", name, "pause"), body, as_json=as_json)


@app.command()
def resume(name: Name, *, as_json: AsJson = False) -> None:
    """End a pause; what it left out is not made up for."""
    _change(resource("schedules", name, "resume"), b"", as_json=as_json)


@app.command()
def run(name: Name, *, as_json: AsJson = False) -> None:
    """Start its sweep now, whatever its policies say."""
    with Client.connect(load_settings()) as client:
        answer = client.post(resource("schedules", name, "run"))
    if as_json:
        print_json(answer.document)
        return
    sweep_id = answer.read(Decision).sweep_id
    say(Console(), f"sweep {sweep_id}; follow it with: tpsweep watch {sweep_id}")


@app.command()
def delete(name: Name, *, as_json: AsJson = False) -> None:
    """Forget it and its decisions; the sweeps it started stay."""
    with Client.connect(load_settings()) as client:
        client.delete(resource("schedules", name))
    if as_json:
        print_json({"deleted": name})
    else:
        say(Console(), f"schedule {name} is deleted")


def _change(path: str, body: bytes, *, as_json: bool) -> None:
    with Client.connect(load_settings()) as client:
        answer = client.post(path, body)
    if as_json:
        print_json(answer.document)
    else:
        _describe(answer.read(Schedule))


def _describe(schedule: Schedule) -> None:
    console = Console()
    say(console, f"schedule {schedule.name}: {schedule.cron} in {schedule.zone}", "bold")
    say(console, f"catch up {schedule.catch_up}, overlap {schedule.overlap}")
    if schedule.baseline is not None:
        say(console, f"held against baseline {schedule.baseline}")
    if schedule.last_held is not None:
        say(console, f"last night: {schedule.last_held.sentence}")
    if schedule.pause is not None:
        say(console, schedule.pause.label, "yellow")
    following = ", ".join(f"{one:%Y-%m-%d %H:%M}" for one in schedule.next_starts)
    say(console, f"next starts (UTC): {following or 'none'}")
