"""Series as JSON lines: `{"id": …, "values": […]}`, null where a night is missing."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from pydantic import Field, StrictInt, StrictStr, ValidationError

from service.cli import files
from workers.contract.frozen import Frozen

LARGEST_SIZE = 1e150
"""Of a value: squares of what is larger are no numbers any more."""
MOST_NIGHTS = 100_000
LONGEST_SHOWN = 100

Value = Annotated[float, Field(strict=True, ge=-LARGEST_SIZE, le=LARGEST_SIZE)]


class SeriesLine(Frozen):
    """One series as given."""

    id: StrictStr | StrictInt
    values: Annotated[tuple[Value | None, ...], Field(max_length=MOST_NIGHTS)]


def read_series(name: str) -> Iterator[SeriesLine | str]:
    """Yield each line's series, or what is wrong with the line. Empty lines are left out.

    UsageError where the file cannot be read.
    """
    with files.reading(name) as lines:
        yield from _parsed(lines, files.shown(name))


def _parsed(lines: BinaryIO, shown: str) -> Iterator[SeriesLine | str]:
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(BOM_UTF8)
        if not text.strip():
            continue
        try:
            yield SeriesLine.model_validate_json(text)
        except ValidationError as error:
            yield f"{shown}, line {number}: {_first(error)}"


def _first(error: ValidationError) -> str:
    """Where the first thing wrong is, what it is, and what was found there."""
    first = error.errors(include_url=False)[0]
    where = first["loc"][:1] if first["loc"][:1] == ("id",) else first["loc"]
    path = "".join(f"/{part}" for part in where)
    if first["type"] == "json_invalid":
        return f'{first["msg"]}; a line is {{"id": "name", "values": [1.5, null]}}'
    if first["type"] == "missing":
        return f"{path}: {first['msg']}" if path else str(first["msg"])
    is_large = first["type"] in {"less_than_equal", "greater_than_equal"}
    says = f"Input should be at most {LARGEST_SIZE:g} in size" if is_large else first["msg"]
    return f"{path or 'the line'}: {says}; got {str(first['input'])[:LONGEST_SHOWN]!r}"
