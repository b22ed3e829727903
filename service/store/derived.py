"""States of points and sweeps, as SQL over the states of their trials.

Expressions and statements never change once built, and building one costs more than running it: so
each is built once.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from sqlalchemy import (
    BindParameter,
    Case,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from service.store.models.point import PointRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import TrialRow
from service.store.states import HELD, PointState, SweepState, TrialState

_TRIAL = aliased(TrialRow)


def is_queued(trial: type[TrialRow]) -> ColumnElement[bool]:
    """The condition of the partial index, written as the index has it: not as a parameter."""
    return trial.state == literal(TrialState.QUEUED, TrialRow.state.type, literal_execute=True)


def is_held(trial: type[TrialRow]) -> ColumnElement[bool]:
    """The same for the trials that some dispatcher owns."""
    held = bindparam(
        "held", HELD, TrialRow.state.type, expanding=True, unique=True, literal_execute=True
    )
    return trial.state.in_(held)


@cache
def sweep_state() -> Case[str]:
    """State of the row of `sweeps` that the statement is at."""
    return case(*_cases(SweepRow.id, "sweep_id"), else_=SweepState.SUCCEEDED.value)


@cache
def point_state() -> Case[str]:
    """State of the row of `points` that the statement is at."""
    return case(
        (PointRow.is_rejected, PointState.REJECTED.value),
        *_cases(func.coalesce(PointRow.paired_with, PointRow.id), "point_id"),
        else_=PointState.SUCCEEDED.value,
    )


def _cases(
    owner: ColumnElement[str] | InstrumentedAttribute[str], reference: str
) -> list[tuple[ColumnElement[bool], str]]:
    """Of the trials of one row, each looked for by an index."""

    def has(*states: TrialState) -> ColumnElement[bool]:
        belongs = getattr(_TRIAL, reference) == owner
        return exists(select(1).where(belongs, _TRIAL.state.in_(states)))

    return _in_order(has)


def _in_order(
    has: Callable[..., ColumnElement[bool]],
) -> list[tuple[ColumnElement[bool], str]]:
    """First match wins; both enums use the same words. `has` tells of the states of all trials."""
    queued = has(TrialState.QUEUED)
    succeeded, failed = has(TrialState.SUCCEEDED), has(TrialState.FAILED)
    cancelled = has(TrialState.CANCELLED)
    return [
        (has(*HELD), SweepState.RUNNING.value),
        (and_(queued, or_(succeeded, failed, cancelled)), SweepState.RUNNING.value),
        (queued, SweepState.QUEUED.value),
        (cancelled, SweepState.CANCELLED.value),
        (and_(succeeded, failed), SweepState.PARTIAL.value),
        (failed, SweepState.FAILED.value),
    ]


def trial_counts(session: Session, sweep_ids: Sequence[str]) -> dict[str, dict[TrialState, int]]:
    """Trials by state for each sweep; every state is there."""
    counts = {sweep_id: dict.fromkeys(TrialState, 0) for sweep_id in sweep_ids}
    for sweep_id, state, count in session.connection().execute(
        _count_trials(), {"sweep_ids": sweep_ids}
    ):
        counts[sweep_id][state] = count
    return counts


def point_counts(
    session: Session, of_trials: Mapping[str, Mapping[TrialState, int]]
) -> dict[str, dict[PointState, int]]:
    """Points by state for each sweep; every state is there. `of_trials` is what trial_counts says.

    Where all trials of a sweep are in one state, so are its points, and nobody has to look at them.
    """
    counts = {sweep_id: dict.fromkeys(PointState, 0) for sweep_id in of_trials}
    connection = session.connection()
    found = connection.execute(_count_rejected(), {"sweep_ids": list(of_trials)})
    for sweep_id, count in found:
        counts[sweep_id][PointState.REJECTED] = count
    only = {sweep_id: _only(states) for sweep_id, states in of_trials.items()}
    uniform = {sweep_id: state for sweep_id, state in only.items() if state is not None}
    if uniform:
        all_points = connection.execute(_count_all_points(), {"sweep_ids": list(uniform)})
        for sweep_id, count in all_points:
            measured = count - counts[sweep_id][PointState.REJECTED]
            counts[sweep_id][uniform[sweep_id]] = measured
    if mixed := [sweep_id for sweep_id in only if sweep_id not in uniform]:
        for sweep_id, told, count in connection.execute(_count_points(), {"sweep_ids": mixed}):
            counts[sweep_id][PointState(told)] = int(count)
    return counts


def _only(counts: Mapping[TrialState, int]) -> PointState | None:
    """The state of every point; None where trials are in several states."""
    states = [state for state, count in counts.items() if count]
    if len(states) > 1:
        return None
    if not states:
        return PointState.SUCCEEDED
    return PointState.RUNNING if states[0] in HELD else PointState(states[0].value)


@cache
def _count_trials() -> Select[str, TrialState, int]:
    return (
        select(TrialRow.sweep_id, TrialRow.state, func.count())
        .where(TrialRow.sweep_id.in_(_sweep_ids()))
        .group_by(TrialRow.sweep_id, TrialRow.state)
    )


@cache
def _count_all_points() -> Select[str, int]:
    return (
        select(PointRow.sweep_id, func.count())
        .where(PointRow.sweep_id.in_(_sweep_ids()))
        .group_by(PointRow.sweep_id)
    )


@cache
def _count_rejected() -> Select[str, int]:
    return (
        select(PointRow.sweep_id, func.count())
        .join(SweepRow, SweepRow.id == PointRow.sweep_id)
        .where(
            SweepRow.id.in_(_sweep_ids()), SweepRow.num_rejected > 0, PointRow.is_rejected.is_(True)
        )
        .group_by(PointRow.sweep_id)
    )


@cache
def _count_points() -> Select[str, str, int]:
    """Trials by point, then points by what theirs come to; those of a pair have theirs together."""

    def has(*states: TrialState) -> ColumnElement[bool]:
        return func.max(case((_TRIAL.state.in_(states), 1), else_=0)) == 1

    num_points = func.max(case((_TRIAL.pair_point_id.is_(None), 1), else_=2))
    points = (
        select(
            _TRIAL.sweep_id,
            case(*_in_order(has), else_=PointState.SUCCEEDED.value).label("state"),
            num_points.label("num_points"),
        )
        .where(_TRIAL.sweep_id.in_(_sweep_ids()))
        .group_by(_TRIAL.sweep_id, _TRIAL.point_id)
        .subquery()
    )
    return select(points.c.sweep_id, points.c.state, func.sum(points.c.num_points)).group_by(
        points.c.sweep_id, points.c.state
    )


def _sweep_ids() -> BindParameter[Sequence[str]]:
    return bindparam("sweep_ids", expanding=True)
