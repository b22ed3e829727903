"""Which trial comes next, as one expression of SQL."""

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    and_,
    exists,
    literal,
    not_,
    or_,
    select,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from service.store.clock import db_now
from service.store.derived import is_held, is_queued
from service.store.leases import Offer
from service.store.models.sweep import ReplicateRow, SweepRow
from service.store.models.trial import TrialRow

_NEXT, _READY, _CLAIMED, _OTHER = (
    aliased(TrialRow, name=name) for name in ("next_trial", "ready", "claimed", "other")
)


def next_trial(
    session: Session, *, owner: str, offer: Offer, prefer: tuple[str, int] | None
) -> ScalarSelect[str]:
    """Id of the most urgent trial the offer can run; nothing while another claim decides about it.

    First the replicate, out of the few that are open, then its first ready trial by index. The
    sweep is locked with the trial and judged again as it is then: two claims never decide about
    one sweep at once.
    """
    replicate = _most_urgent_replicate(session, owner=owner, offer=offer, prefer=prefer)
    return (
        select(_NEXT.id)
        .join(SweepRow, SweepRow.id == _NEXT.sweep_id)
        .where(
            tuple_(_NEXT.sweep_id, _NEXT.replicate) == replicate,
            *_is_ready(session, _NEXT),
            *_fits(offer),
        )
        .order_by(_NEXT.position)
        .limit(1)
        .with_for_update(skip_locked=True, key_share=True, of=[_NEXT, SweepRow])
        .scalar_subquery()
    )


def _most_urgent_replicate(
    session: Session, *, owner: str, offer: Offer, prefer: tuple[str, int] | None
) -> ScalarSelect[tuple[str, int]]:
    """Sweep and number of the replicate to take a trial from."""
    has_ready = exists(
        select(1).where(
            _READY.sweep_id == ReplicateRow.sweep_id,
            _READY.replicate == ReplicateRow.number,
            *_is_ready(session, _READY),
        )
    )
    preferred = _is(prefer, ReplicateRow.sweep_id, ReplicateRow.number)
    taken = _held_by_another(
        ReplicateRow.sweep_id, ReplicateRow.number, owner=owner, own_group=preferred
    )
    return (
        select(ReplicateRow.sweep_id, ReplicateRow.number)
        .join(SweepRow, SweepRow.id == ReplicateRow.sweep_id)
        .where(SweepRow.finished_at.is_(None), *_fits(offer), not_(taken), has_ready)
        .order_by(
            SweepRow.priority.desc(),
            preferred.desc(),
            SweepRow.created_at,
            SweepRow.id,
            ReplicateRow.number,
        )
        .limit(1)
        .scalar_subquery()
    )


def is_taken(
    session: Session, trial_id: str, *, owner: str, prefer: tuple[str, int] | None
) -> bool:
    """Whether another group holds the replicate of a trial that was just claimed.

    The claim looked before it had the sweep's lock; PostgreSQL may have let another claim commit
    in between. This is a new statement under the lock, so what it sees is final.
    """
    preferred = _is(prefer, _CLAIMED.sweep_id, _CLAIMED.replicate)
    taken = _held_by_another(
        _CLAIMED.sweep_id, _CLAIMED.replicate, owner=owner, own_group=preferred, besides=_CLAIMED.id
    )
    return bool(session.scalar(select(taken).where(_CLAIMED.id == trial_id)))


def _fits(offer: Offer) -> tuple[ColumnElement[bool], ...]:
    return (
        SweepRow.cancel_requested_at.is_(None),
        SweepRow.num_devices <= offer.num_slots,
        or_(SweepRow.hardware_key.is_(None), SweepRow.hardware_key == offer.hardware_key),
        or_(
            SweepRow.accelerator_pattern.is_(None),
            literal(offer.accelerator.lower()).like(SweepRow.accelerator_pattern, escape="\\"),
        ),
    )


def _is_ready(session: Session, trial: type[TrialRow]) -> tuple[ColumnElement[bool], ...]:
    return is_queued(trial), trial.ready_at <= db_now(session)


def _held_by_another(
    sweep_id: InstrumentedAttribute[str],
    replicate: InstrumentedAttribute[int],
    *,
    owner: str,
    own_group: ColumnElement[bool],
    besides: InstrumentedAttribute[str] | None = None,
) -> ColumnElement[bool]:
    """Whether the replicate runs in another group: of another owner, or not the preferred one."""
    held = select(1).where(
        _OTHER.sweep_id == sweep_id,
        _OTHER.replicate == replicate,
        is_held(_OTHER),
        or_(_OTHER.owner != owner, not_(own_group)),
    )
    return exists(held if besides is None else held.where(_OTHER.id != besides))


def _is(
    prefer: tuple[str, int] | None,
    sweep_id: InstrumentedAttribute[str],
    replicate: InstrumentedAttribute[int],
) -> ColumnElement[bool]:
    wanted = ("", -1) if prefer is None else prefer
    return and_(sweep_id == wanted[0], replicate == wanted[1])
