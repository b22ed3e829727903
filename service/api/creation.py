"""Sweeps are created once for each idempotency key, whatever they are of."""

import secrets
from collections.abc import Callable
from typing import Annotated

from fastapi import Header, Response

from service.access.callers import Caller
from service.api.state import Service
from service.reports import sweeps as reports
from service.reports.sweeps import SweepReport
from service.store import sweeps
from service.store.idempotency import IdempotencyKey, hash_of, lookup
from workers.contract.calibration import AnySweepSpec, Probes
from workers.contract.sweep import Expansion

KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="Send the same key again and the sweep of the first time is answered.",
    ),
]
Planned = tuple[AnySweepSpec, Expansion | Probes]
"""What is kept of a request, and its points."""


def create(
    service: Service,
    asked: AnySweepSpec,
    *,
    caller: Caller,
    idempotency_key: str | None,
    plan: Callable[[], Planned],
    response: Response,
) -> SweepReport:
    """Queue what is planned, or answer what was created with this key before; say where it is."""
    key = None
    if idempotency_key is not None:
        key = IdempotencyKey(caller.id, idempotency_key, hash_of(asked))
    report = None if key is None else _created_before(service, key)
    if report is None:
        report = _created(service, plan(), caller=caller, key=key)
    response.headers["Location"] = f"/v1/sweeps/{report.id}"
    return report


def _created(
    service: Service, planned: Planned, *, caller: Caller, key: IdempotencyKey | None
) -> SweepReport:
    spec, expansion = planned
    with service.sessions.writing() as session:
        sweep = sweeps.create(
            session,
            spec,
            created_by=caller.name,
            seed=secrets.randbits(31),
            expansion=expansion,
            idempotency=key,
        )
    return SweepReport.of(sweep)


def _created_before(service: Service, key: IdempotencyKey) -> SweepReport | None:
    with service.sessions.reading() as session:
        sweep_id = lookup(session, principal=key.principal, key=key.key, body_hash=key.body_hash)
        return None if sweep_id is None else reports.find(session, sweep_id)
