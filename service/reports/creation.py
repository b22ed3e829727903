"""Sweeps are created once for each idempotency key, whatever they are of."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from service.reports import sweeps as reports
from service.reports.sweeps import SweepReport
from service.store import sweeps
from service.store.engine import Sessions
from service.store.idempotency import IdempotencyKey, lookup
from workers.contract.calibration import AnySweepSpec, Probes
from workers.contract.canonical import sha256_of
from workers.contract.expansion import Expansion

Planned = tuple[AnySweepSpec, Expansion | Probes]
"""What is kept of a request, and its points."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and how they tell a repeated request from a new one."""

    principal: str
    """Whose keys they are."""
    name: str
    key: str | None


def create(
    sessions: Sessions, asked: AnySweepSpec, asker: Asker, *, plan: Callable[[], Planned]
) -> SweepReport:
    """Queue what is planned, or report what was created with this key before."""
    key = None
    if asker.key is not None:
        key = IdempotencyKey(asker.principal, asker.key, sha256_of(asked.model_dump(mode="json")))
    report = None if key is None else _created_before(sessions, key)
    return report or _created(sessions, plan(), created_by=asker.name, key=key)


def _created(
    sessions: Sessions, planned: Planned, *, created_by: str, key: IdempotencyKey | None
) -> SweepReport:
    spec, expansion = planned
    with sessions.writing() as session:
        sweep = sweeps.create(
            session,
            spec,
            created_by=created_by,
            seed=secrets.randbits(31),
            expansion=expansion,
            idempotency=key,
        )
    return SweepReport.of(sweep)


def _created_before(sessions: Sessions, key: IdempotencyKey) -> SweepReport | None:
    with sessions.reading() as session:
        sweep_id = lookup(session, principal=key.principal, key=key.key, body_hash=key.body_hash)
        return None if sweep_id is None else reports.find(session, sweep_id)
