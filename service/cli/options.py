"""Options that several commands share."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SweepId = Annotated[str, typer.Argument(help="The sweep's id.", show_default=False)]
Limit = Annotated[int, typer.Option(help="Show at most this many.", min=1, max=100_000)]
Tolerance = Annotated[
    float | None, typer.Option(help="Relative change that does not matter.", min=0, max=1)
]
AllowDifferent = Annotated[
    list[str] | None,
    typer.Option(
        help="A field in which the sides may differ, as hardware; may come several times."
    ),
]
SweepFile = Annotated[
    str, typer.Argument(metavar="FILE", help="The sweep as JSON; - reads it from stdin.")
]
