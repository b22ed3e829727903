"""What a claim becomes: a lease, with its attempt on record and the sweep bound to hardware."""

from datetime import timedelta
from functools import cache

from sqlalchemy import Insert, Select, String, Update, bindparam, insert, select, update
from sqlalchemy.orm import Session, aliased

from service.store import sweep_changes
from service.store.clock import db_now_parameter, db_now_value, has_own_clock
from service.store.leases import Lease, Offer
from service.store.models.point import PointRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.states import EventKind

_PAIR_POINT = aliased(PointRow, name="pair_point")
_GRANTED = (
    select(
        TrialRow.attempt,
        TrialRow.sweep_id,
        TrialRow.point_id,
        TrialRow.replicate,
        TrialRow.owner,
        PointRow.spec,
        TrialRow.pair_point_id,
        _PAIR_POINT.spec.label("pair_spec"),
        SweepRow.sampling,
        SweepRow.profile,
        SweepRow.group_kind,
        SweepRow.seed,
        SweepRow.num_devices,
        SweepRow.degrees,
        SweepRow.hardware_key,
    )
    .join(PointRow, PointRow.id == TrialRow.point_id)
    .join(SweepRow, SweepRow.id == TrialRow.sweep_id)
    .outerjoin(_PAIR_POINT, _PAIR_POINT.id == TrialRow.pair_point_id)
    .where(TrialRow.id == bindparam("granted_id", type_=String()))
)


def grant(session: Session, trial_id: str, *, offer: Offer, ttl: timedelta) -> Lease | None:
    """Begin the attempt's record, read what the holder needs; None if the sweep is bound away."""
    connection = session.connection()
    row = connection.execute(_GRANTED, {"granted_id": trial_id}).one()
    if row.hardware_key is None and not _bind(session, row.sweep_id, offer):
        return None
    connection.execute(
        _insert_attempt(own_clock=has_own_clock(session)),
        {
            "trial_id": trial_id,
            "attempt": row.attempt,
            "owner": row.owner,
            "now": db_now_value(session),
        },
    )
    return Lease(
        trial_id=trial_id,
        attempt=row.attempt,
        sweep_id=row.sweep_id,
        point_id=row.point_id,
        replicate=row.replicate,
        owner=row.owner,
        spec=row.spec,
        sampling=row.sampling,
        group_kind=row.group_kind,
        seed=row.seed,
        num_devices=row.num_devices,
        degrees=row.degrees,
        pair_point_id=row.pair_point_id,
        pair_spec=row.pair_spec,
        ttl=ttl,
        profile=row.profile,
    )


def _bind(session: Session, sweep_id: str, offer: Offer) -> bool:
    """Bind the sweep to the offer's hardware; False while or after another claim does so first."""
    connection = session.connection()
    parameters = {"bound_sweep_id": sweep_id, "bound_to": offer.hardware_key}
    unlocked = connection.execute(_bound(), parameters).one_or_none()
    if unlocked is None or unlocked.hardware_key not in (None, offer.hardware_key):
        return False
    if unlocked.hardware_key is None:
        connection.execute(_bind_to(), parameters)
        key = offer.hardware_key
        sweep_changes.note(session, sweep_id, EventKind.SWEEP_BOUND, hardware_key=key)
    return True


@cache
def _insert_attempt(*, own_clock: bool) -> Insert:
    return insert(AttemptRow).values(granted_at=db_now_parameter("now", own_clock=own_clock))


@cache
def _bound() -> Select[str | None]:
    return (
        select(SweepRow.hardware_key)
        .where(SweepRow.id == bindparam("bound_sweep_id"))
        .with_for_update(skip_locked=True, key_share=True)
    )


@cache
def _bind_to() -> Update:
    return (
        update(SweepRow)
        .where(SweepRow.id == bindparam("bound_sweep_id"))
        .values(hardware_key=bindparam("bound_to"))
    )
