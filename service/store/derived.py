"""States of points and sweeps, as SQL over the states of their trials.

Expressions and statements never change once built, and building one costs more than running it: so
each is built once.
"""

from collections.abc import Sequence
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
    """First match wins; both enums use the same words."""

    def has(*states: TrialState) -> ColumnElement[bool]:
        belongs = getattr(_TRIAL, reference) == owner
        return exists(select(1).where(belongs, _TRIAL.state.in_(states)))

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


def point_counts(session: Session, sweep_ids: Sequence[str]) -> dict[str, dict[PointState, int]]:
    """Points by state for each sweep; every state is there."""
    counts = {sweep_id: dict.fromkeys(PointState, 0) for sweep_id in sweep_ids}
    for sweep_id, state, count in session.execute(_count_points(), {"sweep_ids": sweep_ids}):
        counts[sweep_id][PointState(state)] = count
    return counts


@cache
def _count_trials() -> Select[str, TrialState, int]:
    return (
        select(TrialRow.sweep_id, TrialRow.state, func.count())
        .where(TrialRow.sweep_id.in_(_sweep_ids()))
        .group_by(TrialRow.sweep_id, TrialRow.state)
    )


@cache
def _count_points() -> Select[str, str, int]:
    states = (
        select(PointRow.sweep_id, point_state().label("state"))
        .where(PointRow.sweep_id.in_(_sweep_ids()))
        .subquery()
    )
    return select(states.c.sweep_id, states.c.state, func.count()).group_by(
        states.c.sweep_id, states.c.state
    )


def _sweep_ids() -> BindParameter[Sequence[str]]:
    return bindparam("sweep_ids", expanding=True)
