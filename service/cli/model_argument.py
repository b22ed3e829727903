import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from service.cli.failures import UsageError
from service.cli.sweep_file import read_sweep_file

LONGEST_SHOWN = 60

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A preset's name, or a file: a config.json or an explicit model."
    ),
]


def read_model(name: str) -> JsonValue:
    """Return a file's JSON where there is such a file, and the name itself where there is none."""
    if name.lstrip().startswith("{"):
        raise UsageError("the model is JSON itself; give the name of a file that holds it")
    try:
        is_file = Path(name).is_file()
    except OSError as error:
        raise UsageError(
            f"the model {name[:LONGEST_SHOWN]!r} cannot be read: {error.strerror}",
            "give the name of a file or of a preset",
        ) from error
    if not is_file:
        return name
    found: JsonValue = json.loads(read_sweep_file(name))
    return found


def numbers(text: str, option: str) -> list[int]:
    """Read `1,2,4`."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"{option}={text!r} is not whole numbers with commas between") from error
