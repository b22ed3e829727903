"""Which trial comes next: one statement, built once."""

import functools
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Integer,
    ScalarSelect,
    Select,
    String,
    TupleType,
    and_,
    bindparam,
    exists,
    not_,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased
from sqlalchemy.sql.dml import ReturningUpdate

from service.store.clock import db_now_parameter, db_now_value, has_own_clock
from service.store.derived import is_held, is_queued
from service.store.leases import Offer
from service.store.models.sweep import ReplicateRow, SweepRow
from service.store.models.trial import TrialRow
from service.store.states import TrialState

_NEXT, _READY, _CLAIMED, _OTHER = (
    aliased(TrialRow, name=name) for name in ("next_trial", "ready", "claimed", "other")
)
_OWNER: Final = bindparam("by_owner", type_=String())
_HARDWARE_KEY: Final = bindparam("offered_hardware_key", type_=String())
_ACCELERATOR: Final = bindparam("offered_accelerator", type_=String())
_NUM_SLOTS: Final = bindparam("offered_num_slots", type_=Integer())
_PREFERRED_SWEEP: Final = bindparam("preferred_sweep_id", type_=String())
_PREFERRED_REPLICATE: Final = bindparam("preferred_replicate", type_=Integer())
_LEFT_ALONE: Final = bindparam(
    "replicates_left_alone", type_=TupleType(String(), Integer()), expanding=True
)


def take_next(
    session: Session,
    *,
    owner: str,
    offer: Offer,
    ttl: timedelta,
    prefer: tuple[str, int] | None,
    besides: Collection[tuple[str, int]],
) -> str | None:
    """Lease the most urgent trial the offer can run and return its id.

    None where there is none in a replicate besides those, or while another claim is at the same
    replicate. `is_taken` has the last word.
    """
    sweep_id, replicate = prefer or ("", -1)
    parameters = {
        _OWNER.key: owner,
        _HARDWARE_KEY.key: offer.hardware_key,
        _ACCELERATOR.key: offer.accelerator.lower(),
        _NUM_SLOTS.key: offer.num_slots,
        _PREFERRED_SWEEP.key: sweep_id,
        _PREFERRED_REPLICATE.key: replicate,
        _LEFT_ALONE.key: list(besides),
        "now": db_now_value(session),
        "expiry": db_now_value(session, plus=ttl),
    }
    # A plain connection: the ORM has no object of these rows to keep in step.
    statement = _statement(own_clock=has_own_clock(session))
    trial_id: str | None = session.connection().scalar(statement, parameters)
    return trial_id


def is_taken(
    session: Session, trial_id: str, *, owner: str, prefer: tuple[str, int] | None
) -> bool:
    """Whether another group holds the replicate of a trial that was just claimed.

    The claim looked before it had the replicate's lock; PostgreSQL may have let another claim
    commit in between. This is a new statement under the lock, so what it sees is final.
    """
    sweep_id, replicate = prefer or ("", -1)
    parameters = {
        "trial_id": trial_id,
        _OWNER.key: owner,
        _PREFERRED_SWEEP.key: sweep_id,
        _PREFERRED_REPLICATE.key: replicate,
    }
    return bool(session.connection().scalar(_is_taken_statement(), parameters))


def is_any_ready(session: Session) -> bool:
    """Whether any trial waits: far cheaper than to claim in vain."""
    statement = _is_any_ready_statement(own_clock=has_own_clock(session))
    return bool(session.connection().scalar(statement, {"now": db_now_value(session)}))


@functools.cache
def _is_any_ready_statement(*, own_clock: bool) -> Select[bool]:
    now = db_now_parameter("now", own_clock=own_clock)
    return select(exists(select(1).where(is_queued(TrialRow), TrialRow.ready_at <= now)))


@functools.cache
def _statement(*, own_clock: bool) -> ReturningUpdate[str]:
    now = db_now_parameter("now", own_clock=own_clock)
    return (
        update(TrialRow)
        .where(TrialRow.id == _next_trial(now))
        .values(
            state=TrialState.LEASED,
            owner=_OWNER,
            attempt=TrialRow.attempt + 1,
            num_charged=TrialRow.num_charged + 1,
            lease_expires_at=db_now_parameter("expiry", own_clock=own_clock),
        )
        .returning(TrialRow.id)
    )


@functools.cache
def _is_taken_statement() -> Select[bool]:
    taken = _held_by_another(_CLAIMED.sweep_id, _CLAIMED.replicate).where(_OTHER.id != _CLAIMED.id)
    return select(exists(taken)).where(_CLAIMED.id == bindparam("trial_id", type_=String()))


def _next_trial(now: ColumnElement[datetime]) -> ScalarSelect[str]:
    """First the replicate, out of the few that are open, then its first ready trial by index.

    The replicate is locked with the trial: two claims are never at one replicate at once. Nothing
    is waited for, so that a claim may follow anything in a transaction.
    """
    return (
        select(_NEXT.id)
        .join(
            ReplicateRow,
            and_(ReplicateRow.sweep_id == _NEXT.sweep_id, ReplicateRow.number == _NEXT.replicate),
        )
        .where(
            tuple_(_NEXT.sweep_id, _NEXT.replicate) == _most_urgent_replicate(now),
            is_queued(_NEXT),
            _NEXT.ready_at <= now,
        )
        .order_by(_NEXT.position)
        .limit(1)
        .with_for_update(skip_locked=True, key_share=True, of=[_NEXT, ReplicateRow])
        .scalar_subquery()
    )


def _most_urgent_replicate(now: ColumnElement[datetime]) -> ScalarSelect[tuple[str, int]]:
    """Sweep and number of the replicate to take a trial from."""
    has_ready = exists(
        select(1).where(
            _READY.sweep_id == ReplicateRow.sweep_id,
            _READY.replicate == ReplicateRow.number,
            is_queued(_READY),
            _READY.ready_at <= now,
        )
    )
    taken = exists(_held_by_another(ReplicateRow.sweep_id, ReplicateRow.number))
    return (
        select(ReplicateRow.sweep_id, ReplicateRow.number)
        .join(SweepRow, SweepRow.id == ReplicateRow.sweep_id)
        .where(
            SweepRow.finished_at.is_(None),
            SweepRow.cancel_requested_at.is_(None),
            tuple_(ReplicateRow.sweep_id, ReplicateRow.number).not_in(_LEFT_ALONE),
            *_fits(),
            not_(taken),
            has_ready,
        )
        .order_by(
            SweepRow.priority.desc(),
            _is_preferred(ReplicateRow.sweep_id, ReplicateRow.number).desc(),
            SweepRow.created_at,
            SweepRow.id,
            ReplicateRow.number,
        )
        .limit(1)
        .scalar_subquery()
    )


def _fits() -> tuple[ColumnElement[bool], ...]:
    return (
        SweepRow.num_devices <= _NUM_SLOTS,
        or_(SweepRow.hardware_key.is_(None), SweepRow.hardware_key == _HARDWARE_KEY),
        or_(
            SweepRow.accelerator_pattern.is_(None),
            _ACCELERATOR.like(SweepRow.accelerator_pattern, escape="\\"),
        ),
    )


def _held_by_another(
    sweep_id: InstrumentedAttribute[str], replicate: InstrumentedAttribute[int]
) -> Select[int]:
    """Trials of the replicate in another group: of another owner, or not the preferred one."""
    own_group = _is_preferred(sweep_id, replicate)
    return select(1).where(
        _OTHER.sweep_id == sweep_id,
        _OTHER.replicate == replicate,
        is_held(_OTHER),
        or_(_OTHER.owner != _OWNER, not_(own_group)),
    )


def _is_preferred(
    sweep_id: InstrumentedAttribute[str], replicate: InstrumentedAttribute[int]
) -> ColumnElement[bool]:
    return and_(sweep_id == _PREFERRED_SWEEP, replicate == _PREFERRED_REPLICATE)
