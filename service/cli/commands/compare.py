from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.options import AllowDifferent, AsJson, Tolerance
from service.cli.terminal import cell, new_table, print_json, say
from service.cli.verdicts import SLOWER, STYLES, ratio_with_interval
from service.cli.wire.comparison import Comparison, Unmatched
from service.figures import microseconds

app = typer.Typer()

COLUMNS = ("point", "baseline", "candidate", "ratio", "verdict", "notes")
MOST_UNMATCHED = 20


@app.command()
def compare(
    baseline: Annotated[str, typer.Argument(help="What was before.", show_default=False)],
    candidate: Annotated[str, typer.Argument(help="What came after.", show_default=False)],
    *,
    tolerance: Tolerance = None,
    allow_different: AllowDifferent = None,
    as_json: AsJson = False,
) -> None:
    """Compare any two sides point by point.

    A side is a sweep's id, a baseline's name, or selectors, several apart by spaces in one
    argument: tag:commit=abc123, version:nccl=2.27.3, hardware:NAME, node:NAME,
    since:2026-11-01..2026-11-15, baseline:NAME, sweep:ID, or an axis as in dtype:bfloat16.
    Points are matched by what they measured and on which hardware; where that differs the answer
    is refused until --allow-different names the field. The ratio is candidate over baseline: below
    1 is faster. The exit code is 1 where the overall verdict is slower.
    """
    wanted = {
        "baseline": baseline,
        "candidate": candidate,
        "tolerance": tolerance,
        "allow_different": allow_different,
    }
    with Client.connect(load_settings()) as client:
        answer = client.get("/v1/compare", wanted)
    found = answer.read(Comparison)
    if as_json:
        print_json(answer.document)
    else:
        _show(found)
    is_slower = found.overall is not None and found.overall.verdict == SLOWER
    raise typer.Exit(ExitCode.NEGATIVE if is_slower else ExitCode.OK)


def _show(found: Comparison) -> None:
    console = Console()
    console.print(_table(found))
    _list_unmatched(console, "baseline", found.unmatched_baseline)
    _list_unmatched(console, "candidate", found.unmatched_candidate)
    for side, failed in (
        ("baseline", found.failed_baseline),
        ("candidate", found.failed_candidate),
    ):
        if failed:
            say(console, f"failed in the {side}: {len(failed)} points", "yellow")
    for difference in found.differences:
        before, after = (", ".join(x) or "-" for x in (difference.baseline, difference.candidate))
        say(console, f"{difference.field}: {before} -> {after}", "dim")
    say(console, found.sentence, "bold")


def _table(found: Comparison) -> Table:
    table = new_table("", COLUMNS, right=("baseline", "candidate", "ratio"), whole=("verdict",))
    for point in found.points:
        table.add_row(
            cell(point.spec.label),
            cell(microseconds(point.baseline.step_time_us)),
            cell(microseconds(point.candidate.step_time_us)),
            cell(ratio_with_interval(point)),
            cell(point.verdict, STYLES.get(point.verdict, "")),
            cell(", ".join(point.quality)),
        )
    return table


def _list_unmatched(console: Console, side: str, points: tuple[Unmatched, ...]) -> None:
    if points:
        say(console, f"only in the {side}: {len(points)} points")
    for point in points[:MOST_UNMATCHED]:
        say(console, f"  {point.spec.label}")
