"""Rows as Parquet, one row group for each batch, so that no more than that is held."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from types import ModuleType

from service.errors import NotInstalledError
from service.reports.exporting.flat import FlatResult


class Sink:
    """A file that is only written to, and emptied on the way."""

    def __init__(self) -> None:
        self.closed = False
        self._written: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> int:
        """Keep it until it is taken."""
        self._written.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        """How much was written ever."""
        return self._size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing follows."""
        self.closed = True

    def take(self) -> bytes:
        """Give what was written since the last time."""
        taken = b"".join(self._written)
        self._written.clear()
        return taken


def parquet(batches: Iterable[Sequence[FlatResult]]) -> Iterator[bytes]:
    """Write batches. NotInstalledError, at once, without pyarrow."""
    try:
        arrow = importlib.import_module("pyarrow")
        writing = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise NotInstalledError(
            "Parquet is written by pyarrow, which the server lacks: pip install "
            "'tpsweep[parquet]'; format=csv has the same columns"
        ) from None
    return _written(batches, arrow, writing)


def _written(
    batches: Iterable[Sequence[FlatResult]], arrow: ModuleType, writing: ModuleType
) -> Iterator[bytes]:
    schema = _schema(arrow)
    sink = Sink()
    with writing.ParquetWriter(sink, schema) as writer:
        for batch in batches:
            rows = [row.model_dump() for row in batch]
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            yield sink.take()
    yield sink.take()


def _schema(arrow: ModuleType) -> object:
    """Column types from the row's own."""
    types: dict[object, object] = {
        str: arrow.string(),
        str | None: arrow.string(),
        int: arrow.int64(),
        float: arrow.float64(),
        float | None: arrow.float64(),
        datetime: arrow.timestamp("us", tz="UTC"),
        tuple[int, ...] | None: arrow.list_(arrow.int64()),
    }
    fields = FlatResult.model_fields.items()
    return arrow.schema([(name, types[field.annotation]) for name, field in fields])
