"""Which cases were measured, and by which points."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import Select, bindparam, distinct, func, select
from sqlalchemy.orm import Session

from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.result_filter import ResultFilter, about_points, about_results
from service.store.result_rows import NUM_FILTERS, OF_BLOCKS, matching
from workers.contract.point import PointSpec


@dataclass(frozen=True, slots=True)
class Case:
    """What was measured, once or often."""

    spec_key: str
    """As it was when it was measured."""
    spec: PointSpec


def newest_points(
    session: Session, which: ResultFilter, spec_keys: Iterable[str], *, each: int
) -> tuple[str, ...]:
    """Ids of points that have a matching result: of each of these cases so many of the newest.

    Case by case they are the last of an index; of all cases at once every point would be numbered.
    """
    connection, chosen = session.connection(), _newest_points(which.asked)
    given = {**which.parameters, "each": each}
    found = (connection.execute(chosen, {**given, "spec_key": key}) for key in spec_keys)
    return tuple(point_id for rows in found for point_id in rows.scalars())


def cases(session: Session, which: ResultFilter) -> list[Case]:
    """Every case that matching results are of, those of the newest sweeps first.

    `which` asks for models, phases and hardware alone.
    """
    rows = session.connection().execute(_cases(which.asked), which.parameters)
    return [Case(spec_key=row.spec_key, spec=row.spec) for row in rows]


def num_measured(session: Session, which: ResultFilter) -> tuple[int, int]:
    """How many different points, and how many batches, the matching results are of."""
    row = session.connection().execute(_num_measured(which.asked), which.parameters).one()
    return row.num_points, row.num_batches


@lru_cache(NUM_FILTERS)
def _newest_points(asked: frozenset[str]) -> Select[str]:
    return (
        select(ResultRow.point_id)
        .join(PointRow, PointRow.id == ResultRow.point_id)
        .where(ResultRow.spec_key == bindparam("spec_key"), *matching(asked))
        .group_by(ResultRow.point_id)
        .order_by(ResultRow.point_id.desc())
        .limit(bindparam("each"))
    )


@lru_cache(NUM_FILTERS)
def _num_measured(asked: frozenset[str]) -> Select[int, int]:
    return (
        select(
            func.count(distinct(PointRow.spec_key)).label("num_points"),
            func.count(distinct(PointRow.batch)).label("num_batches"),
        )
        .join(ResultRow, ResultRow.point_id == PointRow.id)
        .where(*matching(asked))
    )


@lru_cache(NUM_FILTERS)
def _cases(asked: frozenset[str]) -> Select[*tuple[object, ...]]:
    """Of each key the newest point is the last of an index of results: no other one is read."""
    keys = select(PointRow.spec_key).where(OF_BLOCKS, *about_points(asked)).distinct().subquery()
    newest = (
        select(func.max(ResultRow.point_id))
        .where(ResultRow.spec_key == keys.c.spec_key, *about_results(asked))
        .scalar_subquery()
    )
    return (
        select(PointRow.spec_key, PointRow.spec)
        .where(PointRow.id.in_(select(newest).select_from(keys)))
        .order_by(PointRow.sweep_id.desc(), PointRow.position)
    )
