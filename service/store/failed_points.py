"""Points that were tried and gave no result, and trials that failed, by the filter of results."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, bindparam, exists, func, select
from sqlalchemy.orm import Session

from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.pages import Page, cut, decode_cursor
from service.store.result_filter import ResultFilter, about_hardware, about_points
from service.store.states import TrialState
from workers.contract.axes import Kind
from workers.contract.point import PointSpec

MOST = 10_000
_OWNER = func.coalesce(PointRow.paired_with, PointRow.id)
"""Of a point: whose trials are its own."""


@dataclass(frozen=True, slots=True)
class FailedPoint:
    """A point with failed trials and no result."""

    id: str
    spec: PointSpec
    spec_key: str
    hardware_key: str
    """Of what its sweep was bound to; empty where it was not bound."""


def find(session: Session, which: ResultFilter) -> list[FailedPoint]:
    """At most `MOST` of those that the filter means, newest sweep first.

    What ran is not known of a trial that failed: a filter by versions means none.
    """
    if which.versions:
        return []
    failed = [TrialRow.point_id == _OWNER, TrialRow.state == TrialState.FAILED]
    chosen = (
        select(PointRow.id, PointRow.spec, PointRow.spec_key, SweepRow.hardware_key)
        .join(SweepRow, SweepRow.id == PointRow.sweep_id)
        .where(
            PointRow.kind == Kind.BLOCK.value,
            *about_points(which.asked),
            *about_hardware(which.asked, SweepRow.hardware_key),
            ~exists(select(1).where(ResultRow.point_id == PointRow.id)),
            exists(select(1).where(*failed, *_about_trials(which.asked))),
        )
        .order_by(PointRow.sweep_id.desc(), PointRow.position)
        .limit(MOST)
    )
    rows = session.connection().execute(chosen, which.parameters)
    return [FailedPoint(row.id, row.spec, row.spec_key, row.hardware_key or "") for row in rows]


def trials(
    session: Session, which: ResultFilter, *, limit: int, cursor: str | None = None
) -> Page[tuple[str, str]]:
    """Failed trials of points that the filter means, newest first: their ids and their sweeps'."""
    if which.versions:
        return Page((), None)
    of_such_a_point = (
        select(1)
        .select_from(PointRow)
        .join(SweepRow, SweepRow.id == PointRow.sweep_id)
        .where(
            PointRow.sweep_id == TrialRow.sweep_id,
            TrialRow.point_id == _OWNER,
            PointRow.kind == Kind.BLOCK.value,
            *about_points(which.asked),
            *about_hardware(which.asked, SweepRow.hardware_key),
        )
    )
    chosen = select(TrialRow.id, TrialRow.sweep_id).where(
        TrialRow.state == TrialState.FAILED,
        exists(of_such_a_point),
        *_about_trials(which.asked),
    )
    if cursor is not None:
        (last,) = decode_cursor(cursor, filters=("failures", which), types=(str,))
        chosen = chosen.where(TrialRow.id < last)
    rows = session.connection().execute(
        chosen.order_by(TrialRow.id.desc()).limit(limit + 1), which.parameters
    )
    ids = [(row.id, row.sweep_id) for row in rows]
    return cut(ids, limit=limit, key=lambda one: (one[0],), filters=("failures", which))


def _about_trials(asked: Collection[str]) -> list[ColumnElement[bool]]:
    on_node = select(1).where(
        AttemptRow.trial_id == TrialRow.id,
        AttemptRow.node.in_(bindparam("nodes", expanding=True)),
    )
    conditions: dict[str, ColumnElement[bool]] = {
        "nodes": exists(on_node),
        "since": TrialRow.finished_at >= bindparam("since"),
        "until": TrialRow.finished_at < bindparam("until"),
    }
    return [condition for name, condition in conditions.items() if name in asked]
