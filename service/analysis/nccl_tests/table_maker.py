"""From printed rows to a table: which operation among how many ranks, and which rows are good."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from service.analysis.nccl_tests import agreement
from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import (
    NcclTestsError,
    PrintedRow,
    Row,
    Skipped,
    Table,
    Told,
    halves,
)

LONGEST_NAME = 200
FOOTER_TOLERANCE = 0.001
"""Relative; on every complete public table the two agree to three digits."""


@dataclass(slots=True)
class Section:
    """One run of nccl-tests in a file."""

    rows: list[PrintedRow] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    named: Operation | None = None
    """The program that was started."""
    not_read: str = ""
    """The same where it is none whose tables are read."""
    hinted: Operation | None = None
    """An operation that a comment speaks of."""
    num_ranks: int | None = None
    """Devices that the header lists."""
    hosts: set[str] = field(default_factory=set)
    accelerator: str = ""


def tables(section: Section, told: Told) -> tuple[Table, ...]:
    """One table for each element type, of the rows that are good; the others join `skipped`."""
    rows = section.rows
    if not rows:
        return ()
    if section.not_read and told.operation is None:
        why = f"a table of {section.not_read}_perf is not read; known are {', '.join(Operation)}"
        section.skipped += [Skipped(row.line, why) for row in rows]
        return ()
    operation = _operation(section, told)
    num_ranks = _num_ranks(section, operation, told)
    good: dict[str, list[Row]] = {}
    for printed in rows:
        reason = _fault(printed, operation, num_ranks)
        if reason is None:
            good.setdefault(printed.dtype, []).append(_row(printed))
        else:
            section.skipped.append(Skipped(printed.line, reason))
    accelerator = "".join(filter(str.isprintable, section.accelerator))[:LONGEST_NAME]
    is_listed = section.num_ranks == num_ranks and bool(section.hosts)
    num_nodes = told.num_nodes or (len(section.hosts) if is_listed else None)
    return tuple(
        Table(operation, dtype, num_ranks, num_nodes, accelerator, tuple(taken))
        for dtype, taken in good.items()
    )


def _operation(section: Section, told: Told) -> Operation:
    if known := told.operation or section.named:
        return known
    possible = agreement.candidates(section.rows)
    if section.hinted is not None and (section.hinted in possible or not possible):
        return section.hinted
    if not possible:
        raise NcclTestsError("the operation is named nowhere, and no row tells it: give op")
    if len(possible) > 1:
        others = " or ".join(possible[1:])
        section.warnings.append(
            f"the operation is named nowhere: taken as {possible[0]}, and {others} would print "
            "the same; op says which"
        )
    return possible[0]


def _num_ranks(section: Section, operation: Operation, told: Told) -> int:
    if told.num_ranks is not None:
        return told.num_ranks
    listed = section.num_ranks
    possible = agreement.possible_ranks(section.rows, operation)
    if possible is None and listed is not None:
        return listed
    if possible is None:
        raise NcclTestsError(f"nothing tells how many ranks ran {operation}: give num_ranks")
    fewest, most = possible
    if listed is not None and fewest <= listed <= most:
        return listed
    if fewest < most:
        raise NcclTestsError(
            f"by the columns there were {fewest} to {most} ranks, and nothing tells which: "
            "give num_ranks"
        )
    if listed is not None:
        section.warnings.append(
            f"the header lists {listed} ranks, the columns are those of {fewest}: took {fewest}"
        )
    return fewest


def _fault(row: PrintedRow, operation: Operation, num_ranks: int) -> str | None:
    if row.message_bytes == 0:
        return "size 0: nothing was sent"
    wrong = sum(cells.num_wrong for cells in row.placements)
    if wrong:
        amount = f"{wrong:g}" if wrong.is_integer() else "some"
        return f"{amount} elements came out wrong"
    if not row.placements:
        return "no time in either placement"
    return agreement.contradiction(row, operation, num_ranks)


def _row(printed: PrintedRow) -> Row:
    out_of_place, in_place = printed.out_of_place, printed.in_place
    return Row(
        message_bytes=printed.message_bytes,
        out_of_place_us=None if out_of_place is None else out_of_place.time_us.value,
        in_place_us=None if in_place is None else in_place.time_us.value,
    )


def is_footer_mean(rows: Sequence[PrintedRow], mean: float) -> bool:
    """Whether the footer's mean is that of these rows: all bus bandwidths, size zero included."""
    found = [cells.busbw for cells in halves(rows)]
    if not found:
        return True
    low = sum(one.low for one in found) / len(found)
    high = sum(one.high for one in found) / len(found)
    slack = FOOTER_TOLERANCE * mean
    return low - slack <= mean <= high + slack


def mean_busbw(rows: Sequence[PrintedRow]) -> float:
    """Mean of all bus bandwidths that are shown."""
    found = [cells.busbw.value for cells in halves(rows)]
    return sum(found) / len(found)
