"""Curves of collective times as they are published, with bandwidths as nccl-tests defines them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.costmodel.faults import DoubtKind, Suspicion
from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import Reading, Row, Table
from service.reports import measured_curves
from service.reports.curve_faults import doubts
from service.store import curves
from service.store.curves import Curve, Origin
from workers.contract.axes import CollectiveImpl
from workers.contract.bandwidth import algbw_gb_per_s
from workers.contract.frozen import Frozen


class PlacementReport(Frozen):
    """Time of one message, and what it makes of bandwidth; GB = 1e9 bytes."""

    time_us: float
    algbw_gb_per_s: float = Field(description="Size over time.")
    busbw_gb_per_s: float = Field(
        description="The same times the bytes that a ring sends over the slowest link for each "
        "byte; above the line rate where a switch adds up."
    )


class CurvePointReport(Frozen):
    """One message size."""

    message_bytes: int = Field(description="Of the total array, over all ranks.")
    out_of_place: PlacementReport | None
    in_place: PlacementReport | None


class DoubtReport(Frozen):
    """Message sizes that are slower than the rest of the curve, or the link, explains."""

    low_bytes: int
    high_bytes: int
    reason: str
    kind: DoubtKind = Field(
        description="configuration: look at how it is set up; noise: readings of one size differ "
        "so much among themselves that the configuration cannot be judged."
    )

    @classmethod
    def of(cls, one: Suspicion) -> Self:
        """Publish a suspicion."""
        return cls(
            low_bytes=one.low_bytes, high_bytes=one.high_bytes, reason=one.reason, kind=one.kind
        )


class CurveReport(Frozen):
    """Times of one collective among one set of ranks."""

    id: str
    origin: Origin
    hardware: str
    op: Operation
    dtype: str = Field(description="As nccl-tests names it.")
    num_ranks: int
    num_nodes: int | None = Field(description="Null where the file does not tell.")
    collective_impl: CollectiveImpl
    link_class: str | None = Field(description="Null where the file does not tell.")
    accelerator: str = Field(description="As the driver names it; empty where the file does not.")
    source: str
    imported_by: str
    imported_at: datetime = Field(description="Or measured.")
    rows: tuple[CurvePointReport, ...]
    doubts: tuple[DoubtReport, ...] = Field(
        description="What no sound machine shows, or why that cannot be judged."
    )

    @classmethod
    def of(cls, curve: Curve) -> Self:
        """Publish a curve."""
        table = curve.table
        return cls(
            id=curve.id,
            origin=curve.origin,
            hardware=curve.hardware,
            op=table.operation,
            dtype=table.dtype,
            num_ranks=table.num_ranks,
            num_nodes=table.num_nodes,
            collective_impl=curve.collective_impl,
            link_class=curve.link_class,
            accelerator=table.accelerator,
            source=curve.source,
            imported_by=curve.imported_by,
            imported_at=curve.imported_at,
            rows=tuple(_point(table, row) for row in table.rows),
            doubts=tuple(DoubtReport.of(one) for one in doubts(curve)),
        )


class SkippedReport(Frozen):
    """A row that was not taken."""

    line: int = Field(description="Of the file, from 1; of JSON the number of the result.")
    reason: str


class ImportReport(Frozen):
    """What a file gave."""

    num_taken: int = Field(description="Rows in all curves.")
    num_new_curves: int = Field(description="Less where the same figures were brought before.")
    curves: tuple[CurveReport, ...]
    skipped: tuple[SkippedReport, ...]
    warnings: tuple[str, ...]


def bring_in(
    session: Session, reading: Reading, *, hardware: str, source: str, imported_by: str
) -> ImportReport:
    """Keep what was read of a file, and say what became of it."""
    kept = [
        curves.add(session, table, hardware=hardware, source=source, imported_by=imported_by)
        for table in reading.tables
    ]
    return ImportReport(
        num_taken=sum(len(table.rows) for table in reading.tables),
        num_new_curves=sum(is_new for _, is_new in kept),
        curves=tuple(CurveReport.of(curve) for curve, _ in kept),
        skipped=tuple(SkippedReport(line=one.line, reason=one.reason) for one in reading.skipped),
        warnings=reading.warnings,
    )


def found(
    session: Session, *, hardware: str | None, operation: Operation | None
) -> Sequence[Curve]:
    """Curves that match: measured here, then brought in; by hardware, operation and ranks."""
    return [
        *measured_curves.found(session, hardware=hardware, operation=operation),
        *curves.list_all(session, hardware=hardware, operation=operation),
    ]


def _point(table: Table, row: Row) -> CurvePointReport:
    return CurvePointReport(
        message_bytes=row.message_bytes,
        out_of_place=_placement(table, row, row.out_of_place_us),
        in_place=_placement(table, row, row.in_place_us),
    )


def _placement(table: Table, row: Row, time_us: float | None) -> PlacementReport | None:
    if time_us is None:
        return None
    algbw = algbw_gb_per_s(message_bytes=row.message_bytes, time_us=time_us)
    factor = table.operation.bus_factor(table.num_ranks)
    return PlacementReport(time_us=time_us, algbw_gb_per_s=algbw, busbw_gb_per_s=algbw * factor)
