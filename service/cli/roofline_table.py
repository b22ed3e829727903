"""Rooflines in a terminal: a line for each product, its rate as a bar under the roof."""

from collections.abc import Sequence

from rich.console import Console

from service.cli.terminal import cell, new_table, say
from service.cli.wire.roofline import Roofline
from service.figures import microseconds

COLUMNS = ("M", "N", "K", "FLOP/byte", "time", "GFLOP/s", "GB/s", "of roof", "")
WIDTH = 15


def show_rooflines(console: Console, found: Sequence[Roofline]) -> None:
    """Print each, by ascending intensity."""
    for one in found:
        table = new_table(one.label, COLUMNS, right=COLUMNS[:-1])
        roofs = one.roof_tflop_per_s
        for product in sorted(one.products, key=lambda product: product.flop_per_byte):
            share = product.tflop_per_s / roofs[product.flop_per_byte]
            row = (
                *(product.m, product.n, product.k, f"{product.flop_per_byte:.3g}"),
                *(microseconds(product.time_us), f"{product.tflop_per_s * 1e3:.3g}"),
                *(f"{product.gb_per_s:.3g}", f"{share:.0%}", _bar(share)),
            )
            table.add_row(*map(cell, row))
        console.print(table)
        for copy in one.copies:
            took = f"{microseconds(copy.time_us)}, {copy.gb_per_s:.3g} GB/s read and written"
            say(console, f"a copy of {copy.copied_bytes / 2**20:.4g} MiB: {took}")
    if not found:
        say(console, "no roofline; tpsweep calibrate measures it")


def _bar(share: float) -> str:
    """Beyond the roof lies what a cache gave."""
    return "█" * min(WIDTH, round(share * WIDTH))
