"""Sweeps: created, looked at, stopped, put back."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from sqlalchemy import Select, bindparam, select, tuple_
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store import derived, sweep_changes
from service.store.idempotency import IdempotencyKey, reserve
from service.store.ids import new_id
from service.store.models.sweep import SweepRow, SweepTagRow
from service.store.pages import Page, cut, decode_cursor
from service.store.states import SweepState
from service.store.submission import insert_sweep
from service.store.sweep import NamedSweep, Sweep, as_submitted, load
from workers.contract.calibration import AnySweepSpec, Probes
from workers.contract.expansion import Expansion

_OPEN = (SweepState.QUEUED, SweepState.RUNNING)
"""States of few sweeps, whatever there was before: only those are looked at."""


def create(
    session: Session,
    spec: AnySweepSpec,
    *,
    created_by: str,
    seed: int,
    expansion: Expansion | Probes,
    idempotency: IdempotencyKey | None = None,
) -> Sweep:
    """Store the sweep, its points and its trials; the first one again where the key was used."""
    sweep_id = new_id()
    if idempotency is not None:
        first = reserve(
            session,
            principal=idempotency.principal,
            key=idempotency.key,
            body_hash=idempotency.body_hash,
            sweep_id=sweep_id,
        )
        if first != sweep_id:
            return find(session, first)
    now = insert_sweep(
        session, sweep_id, spec, created_by=created_by, seed=seed, expansion=expansion
    )
    return as_submitted(
        sweep_id, spec, created_at=now, created_by=created_by, seed=seed, expansion=expansion
    )


def find(session: Session, sweep_id: str) -> Sweep:
    """NotFoundError if there is none."""
    found = find_all(session, [sweep_id])
    if not found:
        raise NotFoundError(f"there is no sweep {sweep_id!r}")
    return found[0]


def find_all(session: Session, sweep_ids: Sequence[str]) -> list[Sweep]:
    """Those of them that there are, in no order."""
    return load(session, select(SweepRow).where(SweepRow.id.in_(sweep_ids)))


def is_over(session: Session, sweep_id: str) -> bool:
    """Whether nothing of it is left to do; far cheaper than `find`. NotFoundError if none."""
    found = session.connection().scalar(_is_over(), {"sweep_id": sweep_id})
    if found is None:
        raise NotFoundError(f"there is no sweep {sweep_id!r}")
    return found


@cache
def _is_over() -> Select[bool]:
    return select(SweepRow.finished_at.is_not(None)).where(SweepRow.id == bindparam("sweep_id"))


def check_known(session: Session, *sweep_ids: str) -> None:
    """NotFoundError names the first that there is not."""
    known = set(session.scalars(select(SweepRow.id).where(SweepRow.id.in_(sweep_ids))))
    for sweep_id in sweep_ids:
        if sweep_id not in known:
            raise NotFoundError(f"there is no sweep {sweep_id!r}")


def page(
    session: Session,
    *,
    state: SweepState | None = None,
    tag: tuple[str, str] | None = None,
    since: datetime | None = None,
    limit: int,
    cursor: str | None = None,
) -> Page[Sweep]:
    """Newest first. `tag` is a key and its value."""
    filters = ("sweeps", state, tag, since)
    chosen = select(SweepRow).order_by(SweepRow.created_at.desc(), SweepRow.id.desc())
    if state is not None:
        chosen = chosen.where(derived.sweep_state() == state.value)
        if state in _OPEN:
            chosen = chosen.where(SweepRow.finished_at.is_(None))
    if tag is not None:
        tagged = select(SweepTagRow.sweep_id).where(
            SweepTagRow.key == tag[0], SweepTagRow.value == tag[1]
        )
        chosen = chosen.where(SweepRow.id.in_(tagged))
    if since is not None:
        chosen = chosen.where(SweepRow.created_at >= since)
    if cursor is not None:
        (last,) = decode_cursor(cursor, filters=filters, types=(str,))
        key = tuple_(SweepRow.created_at, SweepRow.id)
        before = select(SweepRow.created_at, SweepRow.id).where(SweepRow.id == last)
        chosen = chosen.where(key < before.scalar_subquery())
    items = load(session, chosen.limit(limit + 1))
    return cut(items, limit=limit, key=lambda sweep: (sweep.id,), filters=filters)


def names(session: Session, *, limit: int) -> list[NamedSweep]:
    """The newest first: for lists to choose from, which nobody counts trials for."""
    columns = SweepRow.__table__.c
    chosen = (
        select(columns.id, columns.name, columns.spec, columns.created_at, derived.sweep_state())
        .order_by(columns.created_at.desc(), columns.id.desc())
        .limit(limit)
    )
    return [
        NamedSweep(id_, name, spec, created_at, SweepState(state))
        for id_, name, spec, created_at, state in session.connection().execute(chosen)
    ]


def cancel(session: Session, sweep_id: str) -> Sweep:
    """Cancel what is queued; what is held ends through its dispatcher. A finished sweep stays."""
    sweep_changes.cancel_sweep(session, sweep_id)
    return find(session, sweep_id)


def retry(session: Session, sweep_id: str) -> Sweep:
    """Put failed trials back. ConflictError if none failed or the sweep was cancelled."""
    sweep_changes.retry_sweep(session, sweep_id)
    return find(session, sweep_id)
