"""Suspect points of a night are measured again at once, in fresh processes."""

from sqlalchemy import exists, select, update
from sqlalchemy.orm import Session

from service.analysis.schedules.tags import RERUN_OF, without_own_tags
from service.store import sweeps
from service.store.models.point import PointRow
from service.store.models.sweep import SweepRow, SweepTagRow
from service.store.submission import seed_from
from workers.contract.expansion import Expansion
from workers.contract.point import PointSpec
from workers.contract.sweep import LARGEST_NUM_REPLICATES, SweepSpec

FEWEST_REPLICATES = 3
MOST_POINTS = 50
"""Of one night: what a bad night may cost."""


def order(
    session: Session,
    sweep_id: str,
    suspect_cases: frozenset[str],
    *,
    hardware_key: str,
    created_by: str,
) -> str | None:
    """Queue the suspect points of a night's sweep; None where there are none, or it was done.

    It runs on the same kind of hardware. Which node of it takes the trials is the queue's affair:
    a node that is busy or away leaves them to another.
    """
    spec = sweeps.find(session, sweep_id).spec
    again = select(1).where(SweepTagRow.key == RERUN_OF, SweepTagRow.value == sweep_id)
    if session.scalar(select(exists(again))):
        return None
    if not isinstance(spec, SweepSpec):
        return None
    trials = [
        trial
        for trial in _trials(session, sweep_id)
        if any(point.spec_key in suspect_cases for point in trial)
    ]
    if not trials:
        return None
    size = len(trials[0])
    points = tuple(point for trial in trials[: MOST_POINTS // size] for point in trial)
    changes = {
        "name": f"re-run of {sweep_id}",
        "refine": None,
        "profile": False,
        "replicates": _outvoting(spec.replicates),
    }
    tags = {**without_own_tags(spec).tags, RERUN_OF: sweep_id}
    repeated = spec.model_copy(update={**changes, "tags": tags})
    created = sweeps.create(
        session,
        repeated,
        created_by=created_by,
        seed=seed_from(sweep_id),
        expansion=Expansion(points=points, rejected=(), is_paired=spec.pair is not None),
    )
    session.execute(
        update(SweepRow).where(SweepRow.id == created.id).values(hardware_key=hardware_key),
        execution_options={"synchronize_session": False},
    )
    return created.id


def _outvoting(replicates: int) -> int:
    """As many as the median of all of them needs, should the night itself have been a bad one."""
    return min(max(FEWEST_REPLICATES, replicates + 1), LARGEST_NUM_REPLICATES)


def _trials(session: Session, sweep_id: str) -> list[tuple[PointSpec, ...]]:
    """What the trials of a sweep measure, in the order of its grid."""
    rows = session.execute(
        select(PointRow.id, PointRow.spec, PointRow.paired_with)
        .where(PointRow.sweep_id == sweep_id, PointRow.is_rejected.is_(False))
        .order_by(PointRow.position)
    ).all()
    other = {row.paired_with: row.spec for row in rows if row.paired_with is not None}
    firsts = [row for row in rows if row.paired_with is None]
    return [(row.spec, other[row.id]) if row.id in other else (row.spec,) for row in firsts]
