from collections.abc import Iterable

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.options import AsJson, SweepFile
from service.cli.sweep_file import read_sweep_file
from service.cli.terminal import print_json, say
from service.cli.wire.sweeps import Preview, Rejection
from service.figures import duration

app = typer.Typer()

MOST_SHOWN = 20


@app.command()
def preview(file: SweepFile, *, as_json: AsJson = False) -> None:
    """Show what a sweep would measure; nothing is queued.

    Combinations that cannot be measured are listed with what would work. The exit code is 1 where
    nothing is left to measure.
    """
    body = read_sweep_file(file)
    with Client.connect(load_settings()) as client:
        answer = client.post("/v1/sweeps/preview", body)
    found = answer.read(Preview)
    if as_json:
        print_json(answer.document)
    else:
        _show(found)
    raise typer.Exit(ExitCode.OK if found.num_points else ExitCode.NEGATIVE)


def _show(found: Preview) -> None:
    console = Console()
    takes = f", about {duration(found.estimated_s)}" if found.estimated_s is not None else ""
    say(console, f"{found.num_points} points{takes}", "bold")
    for spec in found.points[:MOST_SHOWN]:
        say(console, f"  {spec.label}")
    if found.num_points > MOST_SHOWN:
        say(console, f"  … and {found.num_points - MOST_SHOWN} more; --json shows all")
    if found.rejected:
        say(console, f"{len(found.rejected)} combinations cannot be measured", "bold")
    reasons = _by_reason(found.rejected)
    for alike in reasons[:MOST_SHOWN]:
        others = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        say(console, f"  {alike[0].spec.label}{others}: {alike[0].explanation}")
    if len(reasons) > MOST_SHOWN:
        say(console, f"  … and {len(reasons) - MOST_SHOWN} more reasons; --json shows all")


def _by_reason(rejected: Iterable[Rejection]) -> list[list[Rejection]]:
    """Those that are rejected in the same words together."""
    groups: dict[str, list[Rejection]] = {}
    for rejection in rejected:
        groups.setdefault(rejection.explanation, []).append(rejection)
    return list(groups.values())
