"""JSON lines from another instance: all checked first, then merged batch by batch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from pydantic import Field, ValidationError

from service.errors import FieldError, UnreadableFileError
from service.store import merging
from service.store.engine import Sessions
from service.store.records import FAILURE, RECORD, RESULT, Record
from workers.contract.frozen import Frozen

LONGEST_LINE = 64 << 20
"""Bytes of one result with all its samples."""
LINES_AT_ONCE = 100
BYTES_AT_ONCE = 8 << 20
"""What one transaction takes at most, but for a line that is longer by itself."""
MOST_ERRORS = 50
_NUL = b"\\u0000"


class RefusedLine(Frozen):
    """A line that was left out."""

    line: int
    reason: str


class MergeReport(Frozen):
    """What became of the lines."""

    num_new: int
    num_known: int = Field(description="Were there already, and stay as they are.")
    num_refused: int
    refused: tuple[RefusedLine, ...] = Field(
        description=f"Contradict what is there and were left out; the first {MOST_ERRORS}."
    )
    sentence: str


Numbered = tuple[int, bytes]
"""A line's number, from 1, and the line."""


def merge(sessions: Sessions, file: BinaryIO) -> MergeReport:
    """Take a file's lines, each batch in a transaction of its own.

    UnreadableFileError names every line that cannot be read; then none is taken.
    """
    _check(file)
    num_new = num_known = 0
    refused: list[RefusedLine] = []
    file.seek(0)
    for batch in batches(_lines(file)):
        records = [_read(line) for _, line in batch]
        with sessions.writing() as session:
            outcomes = merging.merge(session, records)
        for (number, _), outcome in zip(batch, outcomes, strict=True):
            if outcome.refused:
                refused.append(RefusedLine(line=number, reason=outcome.refused))
            num_new += outcome.is_new
            num_known += not outcome.is_new and not outcome.refused
    told = f"{num_new} new, {num_known} there already"
    return MergeReport(
        num_new=num_new,
        num_known=num_known,
        num_refused=len(refused),
        refused=tuple(refused[:MOST_ERRORS]),
        sentence=f"{told}, {len(refused)} refused" if refused else told,
    )


def batches(lines: Iterable[Numbered]) -> Iterator[Sequence[Numbered]]:
    """Gather lines that are taken at once: many short ones, or few that hold their samples."""
    batch: list[Numbered] = []
    size = 0
    for number, line in lines:
        if batch and (len(batch) == LINES_AT_ONCE or size + len(line) > BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append((number, line))
        size += len(line)
    if batch:
        yield batch


def _check(file: BinaryIO) -> None:
    errors: list[FieldError] = []
    num_lines = 0
    for number, line in _lines(file):
        num_lines += 1
        try:
            _read(line)
        except ValueError as error:
            errors.append(FieldError(f"line {number}", _told(error)))
            if len(errors) == MOST_ERRORS:
                break
    if not num_lines:
        raise UnreadableFileError("there is no line; send what `tpsweep export` wrote")
    if errors:
        raise UnreadableFileError(
            f"{errors[0].pointer}: {errors[0].detail}; nothing was taken", errors=tuple(errors)
        )


def _lines(file: BinaryIO) -> Iterator[Numbered]:
    """Lines that are not empty, with their numbers."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if line.strip():
            yield number, line


def _read(line: bytes) -> Record:
    if len(line) > LONGEST_LINE:
        raise ValueError(f"it is longer than {LONGEST_LINE} bytes")
    if _NUL in line:
        raise ValueError("text may not contain the character NUL")
    return RECORD.validate_json(line, strict=False)


def _told(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = "".join(f"/{part}" for part in first["loc"] if part not in {RESULT, FAILURE})
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where}: {first['msg'].removeprefix('Value error, ')}{more}".removeprefix(": ")
