"""Points of a sweep, with what became of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store import sweeps
from service.store.derived import point_state
from service.store.models.point import PointRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.pages import Page, cut, decode_cursor
from service.store.result_filter import EVERYTHING, ResultFilter, about_points
from service.store.states import PointState, TrialState
from workers.contract.probe import Measurable
from workers.contract.sharding import Rejection


@dataclass(frozen=True, slots=True)
class PointError:
    """The last failure among a point's trials."""

    trial_id: str
    attempt: int
    code: str
    message: str
    rank: int | None
    signal: int | None
    node: str
    log_tail: str


@dataclass(frozen=True, slots=True)
class Point:
    """One combination, its trials and why it failed or was refused."""

    id: str
    sweep_id: str
    position: int
    """In the order of the grid; the rejected follow the rest."""
    spec: Measurable
    spec_key: str
    state: PointState
    counts: dict[TrialState, int]
    """Trials by state; every state is there."""
    num_attempts: int
    """Over all its trials."""
    paired_with: str | None
    """Of the second point of a pair: the first, whose trials are its own."""
    error: PointError | None
    rejection: Rejection | None


def page(
    session: Session,
    sweep_id: str,
    *,
    state: PointState | None = None,
    which: ResultFilter = EVERYTHING,
    limit: int,
    cursor: str | None = None,
) -> Page[Point]:
    """In the order of the grid, by what a filter asks of points.

    NotFoundError if there is no such sweep.
    """
    sweeps.check_known(session, sweep_id)
    filters = ("points", sweep_id, state, which)
    chosen = (
        select(PointRow)
        .where(PointRow.sweep_id == sweep_id, *about_points(which.asked))
        .order_by(PointRow.position)
    )
    if state is not None:
        chosen = chosen.where(point_state() == state.value)
    if cursor is not None:
        (position,) = decode_cursor(cursor, filters=filters, types=(int,))
        chosen = chosen.where(PointRow.position > position)
    items = _load(session, chosen.limit(limit + 1), which.parameters)
    return cut(items, limit=limit, key=lambda point: (point.position,), filters=filters)


def find(session: Session, point_id: str) -> Point:
    """NotFoundError if there is none."""
    found = _load(session, select(PointRow).where(PointRow.id == point_id))
    if not found:
        raise NotFoundError(f"there is no point {point_id!r}")
    return found[0]


def _load(
    session: Session, chosen: Select[PointRow], parameters: Mapping[str, object] | None = None
) -> list[Point]:
    rows = session.execute(chosen.add_columns(point_state()), parameters).all()
    owners = {row.id: row.paired_with or row.id for row, _ in rows}
    ids = sorted(set(owners.values()))
    counts, num_attempts = _count_trials(session, ids)
    errors = _last_errors(session, ids)
    return [
        Point(
            id=row.id,
            sweep_id=row.sweep_id,
            position=row.position,
            spec=row.spec,
            spec_key=row.spec_key,
            state=PointState(state),
            counts=counts[owners[row.id]],
            num_attempts=num_attempts[owners[row.id]],
            error=errors.get(owners[row.id]),
            rejection=row.rejection,
            paired_with=row.paired_with,
        )
        for row, state in rows
    ]


def _count_trials(
    session: Session, point_ids: Sequence[str]
) -> tuple[dict[str, dict[TrialState, int]], dict[str, int]]:
    counts = {point_id: dict.fromkeys(TrialState, 0) for point_id in point_ids}
    attempts = dict.fromkeys(point_ids, 0)
    rows = session.execute(
        select(TrialRow.point_id, TrialRow.state, func.count(), func.sum(TrialRow.attempt))
        .where(TrialRow.point_id.in_(point_ids))
        .group_by(TrialRow.point_id, TrialRow.state)
    )
    for point_id, state, count, num_attempts in rows:
        counts[point_id][state] = count
        attempts[point_id] += num_attempts
    return counts, attempts


def _last_errors(session: Session, point_ids: Sequence[str]) -> dict[str, PointError]:
    """The failure that ended last, for each point whose latest attempts include one."""
    rows = session.execute(
        select(TrialRow.point_id, AttemptRow)
        .join(AttemptRow, AttemptRow.trial_id == TrialRow.id)
        .where(TrialRow.point_id.in_(point_ids), AttemptRow.code.is_not(None))
        .order_by(AttemptRow.ended_at, AttemptRow.trial_id, AttemptRow.attempt)
    )
    return {
        point_id: PointError(
            trial_id=attempt.trial_id,
            attempt=attempt.attempt,
            code=attempt.code or "",
            message=attempt.message or "",
            rank=attempt.rank,
            signal=attempt.signal,
            node=attempt.node or "",
            log_tail=attempt.log_tail or "",
        )
        for point_id, attempt in rows
    }
