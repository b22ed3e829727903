"""Which rows of results a filter means, and their order, for who reads some of their columns."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Select, and_, bindparam, select

from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.result_filter import about_points, about_results
from workers.contract.axes import Kind

OF_BLOCKS = PointRow.kind == Kind.BLOCK.value
"""Probes have results of another form: `service.store.probes`."""

NEWEST_FIRST = (PointRow.sweep_id.desc(), PointRow.position, ResultRow.replicate)

NUM_FILTERS = 64
"""Combinations of filters whose statements are kept: building one costs more than running it."""


def matching(asked: Collection[str]) -> list[ColumnElement[bool]]:
    """What those fields of a filter ask of a point of a block, and of a result."""
    return [OF_BLOCKS, *about_points(asked), *about_results(asked)]


def chosen_newest(
    of: Select[*tuple[object, ...]], asked: Collection[str]
) -> Select[*tuple[object, ...]]:
    """Only the rows of the parameter `newest` many newest results that match.

    They are chosen by narrow rows: sorting the wide ones would read every document.
    """
    chosen = (
        select(ResultRow.trial_id, ResultRow.point_id)
        .join(PointRow, PointRow.id == ResultRow.point_id)
        .where(*matching(asked))
        .order_by(*NEWEST_FIRST)
        .limit(bindparam("newest"))
        .subquery()
    )
    is_chosen = (ResultRow.trial_id == chosen.c.trial_id, ResultRow.point_id == chosen.c.point_id)
    return of.join(chosen, and_(*is_chosen))
