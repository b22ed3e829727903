"""Writes what a trial measured."""

from functools import cache

from sqlalchemy import Insert, insert
from sqlalchemy.orm import Session

from service.analysis.summary import TrialSummary
from service.store import profiles, samples
from service.store.clock import db_now_parameter, db_now_value, has_own_clock
from service.store.leases import Lease
from service.store.models.result import ResultRow
from workers.contract.trial import TrialResult


def record(session: Session, lease: Lease, result: TrialResult, *, summary: TrialSummary) -> None:
    """Store what the trial measured; queue.complete does so in the transaction that ends it."""
    session.connection().execute(
        _insert(own_clock=has_own_clock(session)),
        {
            "trial_id": lease.trial_id,
            "attempt": lease.attempt,
            "sweep_id": lease.sweep_id,
            "point_id": lease.point_id,
            "replicate": lease.replicate,
            "spec_key": lease.spec.spec_key,
            "hardware_key": result.hardware_key,
            "link_class": result.link_class,
            "node": result.node,
            "group_id": result.group_id,
            "group_kind": result.group_kind,
            "environment": result.environment,
            "devices": result.devices,
            "hosts": result.hosts,
            "proof": result.proof,
            "summary": summary,
            "quality": result.quality,
            "stop_rule": result.stop_rule,
            "num_warmup_steps": result.num_warmup_steps,
            "peak_memory_bytes": result.peak_memory_bytes,
            "wall_ns": result.wall_ns,
            "timed_ns": result.timed_ns,
            "now": db_now_value(session),
        },
    )
    samples.record(session, lease.trial_id, lease.point_id, result)
    if result.profile is not None:
        profiles.record(session, lease.trial_id, lease.point_id, result.profile)


@cache
def _insert(*, own_clock: bool) -> Insert:
    return insert(ResultRow).values(created_at=db_now_parameter("now", own_clock=own_clock))
