"""Curves of collective times in a terminal."""

from collections.abc import Sequence

from rich.console import Console

from service.cli.terminal import cell, new_table, say
from service.cli.wire.curves import Curve, Placement
from service.figures import microseconds

COLUMNS = ("bytes", "out of place", "bus GB/s", "in place", "bus GB/s ")


def show_curves(console: Console, shown: Sequence[Curve]) -> None:
    """Print each with its doubts."""
    for curve in shown:
        table = new_table(curve.label, COLUMNS, right=COLUMNS)
        for row in curve.rows:
            figures = (*_figures(row.out_of_place), *_figures(row.in_place))
            table.add_row(*map(cell, (row.message_bytes, *figures)))
        console.print(table)
        for doubt in curve.doubts:
            say(console, doubt.label, "bold yellow")
    if not shown:
        say(console, "no curves; tpsweep calibrate measures them, tpsweep import brings them in")


def _figures(placement: Placement | None) -> tuple[str, str]:
    if placement is None:
        return "", ""
    return microseconds(placement.time_us), f"{placement.busbw_gb_per_s:.2f}"
