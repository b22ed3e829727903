"""Sweeps that measured points by turns with themselves."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from service.analysis.schedules.tags import AA_TAG
from service.store.models.point import PointRow
from service.store.models.sweep import SweepRow, SweepTagRow


def sweep_ids(
    session: Session, *, schedule: str | None, since: datetime | None, limit: int
) -> list[str]:
    """Of finished sweeps, newest first: of one schedule's A/A control, or all there are."""
    first = aliased(PointRow)
    is_same = (
        select(1)
        .select_from(PointRow)
        .join(first, first.id == PointRow.paired_with)
        .where(PointRow.sweep_id == SweepRow.id, PointRow.spec_key == first.spec_key)
        .exists()
    )
    chosen = select(SweepRow.id).where(SweepRow.finished_at.is_not(None), is_same)
    if schedule is not None:
        chosen = chosen.join(SweepTagRow, SweepTagRow.sweep_id == SweepRow.id).where(
            SweepTagRow.key == AA_TAG, SweepTagRow.value == schedule
        )
    if since is not None:
        chosen = chosen.where(SweepRow.created_at >= since)
    ordered = chosen.order_by(SweepRow.created_at.desc(), SweepRow.id.desc())
    return list(session.scalars(ordered.limit(limit)))
