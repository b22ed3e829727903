"""Results written as JSON lines, CSV or Parquet, batch after batch."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import assert_never

from service.reports.exporting.flat import FlatResult
from service.reports.exporting.parquet import parquet
from service.store.records import FailureRecord, Record, ResultRecord

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With one of these in front a spreadsheet takes a cell's text for a formula and runs it."""

Batches = Iterable[Sequence[ResultRecord]]
Failures = Iterable[Sequence[FailureRecord]]


class Format(StrEnum):
    """How results are written."""

    JSONL = "jsonl"
    """All of each result, and of each failure, to be imported elsewhere."""
    CSV = "csv"
    PARQUET = "parquet"

    @property
    def media_type(self) -> str:
        """Of the answer."""
        match self:
            case Format.JSONL:
                return "application/x-ndjson"
            case Format.CSV:
                return "text/csv; charset=utf-8"
            case Format.PARQUET:
                return "application/vnd.apache.parquet"
            case _:
                assert_never(self)


def written(batches: Batches, failures: Failures, form: Format) -> Iterator[bytes]:
    """Write one batch at a time; a table has no failures.

    NotInstalledError at once where Parquet has no writer.
    """
    match form:
        case Format.JSONL:
            return _lines(chain[Sequence[Record]](batches, failures))
        case Format.CSV:
            return _csv(batches)
        case Format.PARQUET:
            return parquet([FlatResult.of(one) for one in batch] for batch in batches)
        case _:
            assert_never(form)


def line(record: Record) -> bytes:
    """One result, or failure; equal results give equal bytes on whatever database they are kept."""
    document = record.model_dump(mode="json")
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _lines(batches: Iterable[Sequence[Record]]) -> Iterator[bytes]:
    for batch in batches:
        yield b"".join(map(line, batch))


def _csv(batches: Batches) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(FlatResult.model_fields)
    for batch in batches:
        writer.writerows(_cells(FlatResult.of(record)) for record in batch)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def _cells(row: FlatResult) -> Iterator[object]:
    for _, value in row:
        match value:
            case str():
                yield f"'{value}" if value.startswith(FORMULA) else value
            case datetime():
                yield value.astimezone(UTC).isoformat().replace("+00:00", "Z")
            case tuple():
                yield json.dumps(value, separators=(",", ":"))
            case _:
                yield value
