import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from service.cli.failures import UsageError
from service.cli.sweep_file import read_sweep_file

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A preset's name, or a file: a config.json or an explicit model."
    ),
]


def read_model(name: str) -> JsonValue:
    """Return a file's JSON where there is such a file, and the name itself where there is none."""
    if not Path(name).is_file():
        return name
    found: JsonValue = json.loads(read_sweep_file(name))
    return found


def numbers(text: str, option: str) -> list[int]:
    """Read `1,2,4`."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"{option}={text!r} is not whole numbers with commas between") from error
