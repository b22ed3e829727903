"""Curves of collective times over message sizes that were brought in from elsewhere."""

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import Table
from service.store.clock import db_now
from service.store.ids import new_id
from service.store.models.curve import CurveRow
from workers.contract.axes import CollectiveImpl
from workers.contract.canonical import sha256_of


class Origin(StrEnum):
    """Who measured a curve."""

    IMPORTED = "imported"
    MEASURED = "measured"
    """By a calibration."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One table, on what hardware it was measured, and where it comes from."""

    id: str
    hardware: str
    table: Table
    source: str
    imported_by: str
    imported_at: datetime
    """Or measured."""
    origin: Origin = Origin.IMPORTED
    collective_impl: CollectiveImpl = CollectiveImpl.BACKEND
    link_class: str | None = None
    """The worst among the ranks; None of what was brought in."""
    readings: tuple[tuple[int, float], ...] = ()
    """Message bytes and time in us of every trial, of which the rows are medians; none of what was
    brought in."""


def add(
    session: Session, table: Table, *, hardware: str, source: str, imported_by: str
) -> tuple[Curve, bool]:
    """Keep a table, and say whether it is new.

    Of the same figures, however their file was laid out, there is one on a hardware.
    """
    digest = sha256_of(asdict(table))
    values = {
        "id": new_id(),
        "hardware": hardware,
        "content_sha256": digest,
        "operation": table.operation,
        "dtype": table.dtype,
        "num_ranks": table.num_ranks,
        "num_nodes": table.num_nodes,
        "accelerator": table.accelerator,
        "rows": table.rows,
        "source": source,
        "imported_by": imported_by,
        "imported_at": db_now(session),
    }
    same = select(CurveRow).where(CurveRow.hardware == hardware, CurveRow.content_sha256 == digest)
    known = session.scalar(same)
    if known is not None:
        return _curve(known), False
    try:
        with session.begin_nested():
            session.execute(insert(CurveRow).values(values))
    except IntegrityError:
        return _curve(session.scalars(same).one()), False
    return _curve(session.scalars(same).one()), True


def list_all(
    session: Session, *, hardware: str | None = None, operation: Operation | None = None
) -> list[Curve]:
    """By hardware, operation and number of ranks; of several the oldest first."""
    chosen = select(CurveRow).order_by(
        CurveRow.hardware, CurveRow.operation, CurveRow.num_ranks, CurveRow.id
    )
    if hardware is not None:
        chosen = chosen.where(CurveRow.hardware == hardware)
    if operation is not None:
        chosen = chosen.where(CurveRow.operation == operation)
    return [_curve(row) for row in session.scalars(chosen)]


def hardware_names(session: Session) -> list[str]:
    """Names under which there are curves."""
    return list(session.scalars(select(CurveRow.hardware).distinct().order_by(CurveRow.hardware)))


def _curve(row: CurveRow) -> Curve:
    return Curve(
        id=row.id,
        hardware=row.hardware,
        table=Table(
            operation=row.operation,
            dtype=row.dtype,
            num_ranks=row.num_ranks,
            num_nodes=row.num_nodes,
            accelerator=row.accelerator,
            rows=row.rows,
        ),
        source=row.source,
        imported_by=row.imported_by,
        imported_at=row.imported_at,
    )
