import json
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.wire.findings import FindingDetail
from service.figures import signed_percent

app = typer.Typer(no_args_is_help=True, help="Look at a finding, and decide on it.")

FindingId = Annotated[str, typer.Argument(help="The finding's id.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Kept beside the change.")]

COLUMNS = ("node", "case", "effect", "without the host", "p", "nights")


@app.command()
def show(finding_id: FindingId, *, as_json: AsJson = False) -> None:
    """Show what changed, how sure that is, where, why, since when, and how to see it again."""
    with Client.connect(load_settings()) as client:
        answer = client.get(resource("findings", finding_id))
    if as_json:
        print_json(answer.document)
    else:
        _describe(answer.read(FindingDetail))


@app.command()
def acknowledge(finding_id: FindingId, *, reason: Reason, as_json: AsJson = False) -> None:
    """Say that it is true and known."""
    _change(finding_id, "acknowledge", {"reason": reason}, as_json=as_json)


@app.command()
def fix(finding_id: FindingId, *, reason: Reason, as_json: AsJson = False) -> None:
    """Say that it is mended."""
    _change(finding_id, "fix", {"reason": reason}, as_json=as_json)


@app.command()
def dismiss(
    finding_id: FindingId,
    *,
    as_: Annotated[str, typer.Option("--as", help="false_positive, hardware or method.")],
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Say that it is none; the precision of the schedule's policy is reckoned from it."""
    body = {"dismissal": as_, "reason": reason}
    _change(finding_id, "dismiss", body, as_json=as_json)


@app.command()
def reopen(finding_id: FindingId, *, reason: Reason, as_json: AsJson = False) -> None:
    """Take back what was decided."""
    _change(finding_id, "reopen", {"reason": reason}, as_json=as_json)


def _change(finding_id: str, how: str, body: dict[str, str], *, as_json: bool) -> None:
    with Client.connect(load_settings()) as client:
        answer = client.post(resource("findings", finding_id, how), json.dumps(body).encode())
    if as_json:
        print_json(answer.document)
        return
    found = answer.read(FindingDetail)
    say(Console(), f"finding {found.id} is {found.state}")


def _describe(found: FindingDetail) -> None:
    console = Console()
    say(console, found.sentence, "bold")
    since = f"since {found.night.at:%Y-%m-%d %H:%M} UTC (sweep {found.night.sweep_id})"
    if found.last_good is not None:
        good = found.last_good
        since += f"; last good {good.at:%Y-%m-%d %H:%M} UTC (sweep {good.sweep_id})"
    say(console, since)
    table = new_table("", COLUMNS, right=("effect", "without the host", "p", "nights"))
    labels = [case.label for case in found.cases]
    for one in found.members:
        nights = "" if one.num_before is None else f"{one.num_before} / {one.num_after}"
        left = signed_percent(one.normalised_effect)
        p = "suspect" if one.p is None else f"{one.p:.1g}"
        label = labels[0] if len(labels) == 1 else one.case
        effect = signed_percent(one.effect_relative)
        table.add_row(*map(cell, (one.node, label, effect, left, p, nights)))
    show_table(console, table, empty="")
    for difference in found.differences:
        before, after = (", ".join(x) or "-" for x in (difference.baseline, difference.candidate))
        say(console, f"{difference.field}: {before} -> {after}", "dim")
    for change in found.changes:
        when = f"{change.changed_at:%Y-%m-%d %H:%M}"
        say(console, f"{when} {change.state} by {change.changed_by}: {change.reason}")
    say(console, f"judged by {found.detector} version {found.detector_version}", "dim")
    say(console, f"measure it again: {found.reproduce}")
