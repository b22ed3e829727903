"""What a person sees, with rich; and what a script reads, as JSON."""

import json
import sys
from collections.abc import Sequence

from pydantic import JsonValue
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.cli.escaping import printable


def cell(value: object, style: str = "") -> Text:
    """Text of a table's cell: no markup, no control characters."""
    return Text(printable("" if value is None else str(value)), style=style)


def say(console: Console, text: str, style: str = "") -> None:
    """Print one line of possibly foreign text, wrapped but never interpreted."""
    console.print(Text(printable(text), style=style), soft_wrap=True)


def show_table(console: Console, table: Table, *, empty: str) -> None:
    """Print a table, or say that there is nothing to show."""
    if table.row_count:
        console.print(table)
    else:
        say(console, empty)


def print_json(document: JsonValue) -> None:
    """Write one JSON document on one line; escapes all that is not ASCII."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def new_table(
    title: str, columns: Sequence[str], *, right: Sequence[str] = (), whole: Sequence[str] = ()
) -> Table:
    """Make an empty table whose columns named in `right` hold numbers.

    Those in `whole` hold names that are of use whole alone, such as ids: others give way to them.
    """
    table = Table(
        title=printable(title) or None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for column in columns:
        number = column in right
        table.add_column(
            column, justify="right" if number else "left", no_wrap=number or column in whole
        )
    return table
