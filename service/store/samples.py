"""Raw samples: whole integer arrays, compressed, exactly as they were measured."""

import itertools
from collections.abc import Mapping, Sequence

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from service.store.models.result import CollectiveSampleRow, SampleRow
from workers.contract.axes import Pass
from workers.contract.trial import CollectiveTiming, PassSamples, TrialResult

_INSERT_SAMPLES = insert(SampleRow)
_INSERT_TIMINGS = insert(CollectiveSampleRow)


def record(session: Session, trial_id: str, point_id: str, result: TrialResult) -> None:
    """Store the samples of a result that was just recorded."""
    insert_all(session, trial_id, point_id, passes=result.samples, collectives=result.collectives)


def insert_all(
    session: Session,
    trial_id: str,
    point_id: str,
    *,
    passes: Mapping[Pass, Sequence[PassSamples]],
    collectives: Sequence[CollectiveTiming],
) -> None:
    """Store the samples of a result: of each pass by rank, and of each collective of the step."""
    rows: list[dict[str, object]] = [
        {
            "trial_id": trial_id,
            "point_id": point_id,
            "pass": name,
            "rank": rank,
            "num_steps": len(steps.step_ns),
            "step_ns": steps.step_ns,
            "forward_ns": steps.forward_ns,
        }
        for name, ranks in passes.items()
        for rank, steps in enumerate(ranks)
    ]
    if rows:
        session.connection().execute(_INSERT_SAMPLES, rows)
    timings: list[dict[str, object]] = [
        {
            "trial_id": trial_id,
            "point_id": point_id,
            "position": position,
            "op": timing.op,
            "place": timing.where,
            "message_bytes": timing.message_bytes,
            "wire_ns": timing.wire_ns,
            "wait_ns": timing.wait_ns,
            "timed_in": timing.timed_in,
        }
        for position, timing in enumerate(collectives)
    ]
    if timings:
        session.connection().execute(_INSERT_TIMINGS, timings)


def find(session: Session, trial_id: str, point_id: str) -> dict[Pass, tuple[PassSamples, ...]]:
    """Samples by pass, indexed by rank; empty where the trial has no result of the point."""
    rows = session.execute(
        select(SampleRow.pass_, SampleRow.step_ns, SampleRow.forward_ns)
        .where(SampleRow.trial_id == trial_id, SampleRow.point_id == point_id)
        .order_by(SampleRow.pass_, SampleRow.rank)
    )
    return {
        name: tuple(PassSamples(step_ns=row.step_ns, forward_ns=row.forward_ns) for row in ranks)
        for name, ranks in itertools.groupby(rows, key=lambda row: row.pass_)
    }


def collectives(session: Session, trial_id: str, point_id: str) -> tuple[CollectiveTiming, ...]:
    """Wire and wait of every collective over the steps of the pass it was timed in."""
    rows = session.scalars(
        select(CollectiveSampleRow)
        .where(CollectiveSampleRow.trial_id == trial_id, CollectiveSampleRow.point_id == point_id)
        .order_by(CollectiveSampleRow.position)
    )
    return tuple(
        CollectiveTiming(
            op=row.op,
            where=row.place,
            message_bytes=row.message_bytes,
            wire_ns=row.wire_ns,
            wait_ns=row.wait_ns,
            timed_in=row.timed_in,
        )
        for row in rows
    )
