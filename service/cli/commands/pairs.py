import typer
from rich.console import Console
from rich.table import Table

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, SweepId, Tolerance
from service.cli.terminal import cell, new_table, print_json, say
from service.cli.verdicts import STYLES, ratio_with_interval
from service.cli.wire.pairs import PairOfPoints, Pairs

app = typer.Typer()

COLUMNS = ("part", "ratio", "detectable", "verdict")


@app.command()
def pairs(
    sweep_id: SweepId,
    *,
    tolerance: Tolerance = None,
    as_json: AsJson = False,
) -> None:
    """Show which of two paired points is faster, and what does it.

    The ratio is second point over first in one group of processes, the interval over groups. The
    detectable change is what as many such groups would show with 95 % probability.
    """
    with Client.connect(load_settings()) as client:
        answer = client.get(resource("sweeps", sweep_id, "pairs"), {"tolerance": tolerance})
    if as_json:
        print_json(answer.document)
        return
    console = Console()
    found = answer.read(Pairs).pairs
    for pair in found:
        console.print(_table(pair))
        say(console, pair.sentence, "bold")
    if not found:
        say(console, "no pair of points has been measured")


def _table(pair: PairOfPoints) -> Table:
    values = [value for value in (pair.first.value, pair.second.value) if value]
    title = f"{pair.first.spec.label}: {' and '.join(values) or 'the same twice'}"
    table = new_table(title, COLUMNS, right=("ratio", "detectable"))
    for part in pair.parts:
        table.add_row(
            cell(part.name),
            cell(ratio_with_interval(part)),
            cell(_size(part.detectable)),
            cell(part.verdict, STYLES.get(part.verdict, "")),
        )
    return table


def _size(change: float | None) -> str:
    """A relative change, as a factor where it is more than twice as long."""
    if change is None:
        return ""
    return f"{change:.1%}" if change <= 1 else f"{1 + change:.0f}x"
