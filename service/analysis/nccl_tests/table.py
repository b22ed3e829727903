"""What a file of nccl-tests says, row by row, and what is taken from it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from service.analysis.nccl_tests.operation import Operation

ELEMENT_BYTES = {
    "int8": 1,
    "uint8": 1,
    "char": 1,
    "f8e4m3": 1,
    "f8e5m2": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "half": 2,
    "bfloat16": 2,
    "int": 4,
    "int32": 4,
    "uint32": 4,
    "float": 4,
    "int64": 8,
    "uint64": 8,
    "double": 8,
}
"""Names of element types in the type column; the last of one byte are those of rccl-tests."""


class NcclTestsError(ValueError):
    """Nothing can be taken from the text; `skipped` says why, line by line."""

    def __init__(self, message: str, *, skipped: tuple["Skipped", ...] = ()) -> None:
        super().__init__(message)
        self.skipped = skipped


@dataclass(frozen=True, slots=True)
class Figure:
    """A printed number, and how far from it the true one may lie."""

    value: float
    slack: float

    @property
    def low(self) -> float:
        """The least it may have been."""
        return self.value - self.slack

    @property
    def high(self) -> float:
        """The most it may have been."""
        return self.value + self.slack


@dataclass(frozen=True, slots=True)
class Cells:
    """One placement of one row as it is printed."""

    time_us: Figure
    algbw: Figure
    busbw: Figure
    num_wrong: float = 0
    is_checked: bool = False
    """Whether the elements were compared with what they should be."""


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One row as it is printed; `root` is None where the layout has no such column."""

    line: int
    message_bytes: int
    count: int
    dtype: str
    redop: str
    root: int | None
    out_of_place: Cells | None
    in_place: Cells | None

    @property
    def placements(self) -> tuple[Cells, ...]:
        """Those that were timed."""
        return tuple(filter(None, (self.out_of_place, self.in_place)))


def halves(rows: Iterable[PrintedRow]) -> Iterator[Cells]:
    """Each placement of each row."""
    for row in rows:
        yield from row.placements


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that is not taken, with the number of its line (or of its result) from 1."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """One message size; a time is None where that placement was not run."""

    message_bytes: int
    out_of_place_us: float | None
    in_place_us: float | None

    @property
    def times_us(self) -> tuple[float, ...]:
        """Of the placements that were run."""
        both = (self.out_of_place_us, self.in_place_us)
        return tuple(time for time in both if time is not None)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one operation among one set of ranks, in the order they were run."""

    operation: Operation
    dtype: str
    num_ranks: int
    num_nodes: int | None
    accelerator: str
    """The device as the driver names it, empty where the text does not."""
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file gave."""

    tables: tuple[Table, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What whoever brings the file knows of it; it takes precedence over the text."""

    operation: Operation | None = None
    num_ranks: int | None = None
    num_nodes: int | None = None
