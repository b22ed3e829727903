"""Which rows of results a filter means, and their order, for who reads some of their columns."""

from collections.abc import Collection
from functools import lru_cache

from sqlalchemy import ColumnElement, CursorResult, Select, and_, bindparam, select
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import SQLCoreOperations

from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.result_filter import ResultFilter, about_points, about_results
from workers.contract.axes import Kind

OF_BLOCKS = PointRow.kind == Kind.BLOCK.value
"""Probes have results of another form: `service.store.probes`."""

NEWEST_FIRST = (PointRow.sweep_id.desc(), PointRow.position, ResultRow.replicate)

Columns = tuple[SQLCoreOperations[object], ...]

NUM_FILTERS = 64
"""Combinations of filters whose statements are kept: building one costs more than running it."""


def matching(asked: Collection[str]) -> list[ColumnElement[bool]]:
    """What those fields of a filter ask of a point of a block, and of a result."""
    return [OF_BLOCKS, *about_points(asked), *about_results(asked)]


def found(
    session: Session, columns: Columns, which: ResultFilter, *, newest: int | None = None
) -> CursorResult[*tuple[object, ...]]:
    """Those columns of every result that matches, and of its point and hardware.

    By point and replicate; or of so many of the newest sweeps' results.
    """
    connection = session.connection()
    if newest is None:
        return connection.execute(_chosen(columns, which.asked), which.parameters)
    parameters = {**which.parameters, "newest": newest}
    return connection.execute(_chosen_newest(columns, which.asked), parameters)


@lru_cache(NUM_FILTERS)
def _chosen(columns: Columns, asked: frozenset[str]) -> Select[*tuple[object, ...]]:
    return _joined(columns).where(*matching(asked))


@lru_cache(NUM_FILTERS)
def _chosen_newest(columns: Columns, asked: frozenset[str]) -> Select[*tuple[object, ...]]:
    """They are chosen by narrow rows: sorting wide ones would read every document."""
    chosen = (
        select(ResultRow.trial_id, ResultRow.point_id)
        .join(PointRow, PointRow.id == ResultRow.point_id)
        .where(*matching(asked))
        .order_by(*NEWEST_FIRST)
        .limit(bindparam("newest"))
        .subquery()
    )
    is_chosen = (ResultRow.trial_id == chosen.c.trial_id, ResultRow.point_id == chosen.c.point_id)
    return _joined(columns).join(chosen, and_(*is_chosen))


def _joined(columns: Columns) -> Select[*tuple[object, ...]]:
    return (
        select(*columns)
        .join(PointRow, PointRow.id == ResultRow.point_id)
        .join(HardwareRow, HardwareRow.hardware_key == ResultRow.hardware_key)
        .order_by(*NEWEST_FIRST)
    )
