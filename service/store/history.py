"""The nights of a schedule, and what each of them measured.

A night is a finished sweep with the schedule's name under the tag `schedule`, so that imported
history counts too; what a re-run of it measured, under the tag `rerun_of`, belongs to it as well.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from sqlalchemy import Select, case, func, null, select, tuple_
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import SQLCoreOperations

from service.analysis.control import ControlSummary
from service.analysis.findings.history import Reading
from service.analysis.schedules.tags import RERUN_OF, TAG
from service.analysis.summary import share_of_communication
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepRow, SweepTagRow
from workers.contract.hardware import Environment

MOST_NIGHTS = 200
COVARIATES = ("driver", "cuda", "nccl", "torch", "os")
"""Versions that are rolled out, of an environment."""
_COVARIATES = attrgetter(*COVARIATES)


@dataclass(frozen=True, slots=True)
class Night:
    """One time that a schedule measured."""

    sweep_id: str
    at: datetime


def nights(
    session: Session, policy: str, *, until: Night | None = None, limit: int = MOST_NIGHTS
) -> list[Night]:
    """The newest of a schedule's name, oldest first, up to a given one."""
    of_schedule = select(SweepTagRow.sweep_id).where(
        SweepTagRow.key == TAG, SweepTagRow.value == policy
    )
    return _newest(session, of_schedule, until=until, limit=limit)


def nights_of_case(
    session: Session, spec_key: str, hardware_key: str, *, limit: int = MOST_NIGHTS
) -> list[Night]:
    """The newest finished sweeps of any kind that measured it there, oldest first."""
    return _newest(session, _measured(spec_key, hardware_key), until=None, limit=limit)


def _newest(
    session: Session, sweep_ids: Select[str], *, until: Night | None, limit: int
) -> list[Night]:
    """Of these sweeps the newest that are finished, oldest first, up to a given one."""
    chosen = (
        select(SweepRow.id, SweepRow.created_at)
        .where(SweepRow.id.in_(sweep_ids), SweepRow.finished_at.is_not(None))
        .order_by(SweepRow.created_at.desc(), SweepRow.id.desc())
        .limit(limit)
    )
    if until is not None:
        last = (until.at, until.sweep_id)
        chosen = chosen.where(tuple_(SweepRow.created_at, SweepRow.id) <= last)
    return [Night(sweep_id, at) for sweep_id, at in session.execute(chosen)][::-1]


def _measured(spec_key: str, hardware_key: str) -> Select[str]:
    """Ids of the sweeps that measured a case on a hardware."""
    return select(ResultRow.sweep_id).where(
        ResultRow.spec_key == spec_key, ResultRow.hardware_key == hardware_key
    )


def points_of(
    session: Session, spec_key: str, hardware_key: str, sweep_ids: Collection[str]
) -> dict[str, str]:
    """Ids of the case's points that have results, by sweep; of the two of a pair the first."""
    chosen = (
        select(ResultRow.sweep_id, func.min(ResultRow.point_id))
        .where(
            ResultRow.spec_key == spec_key,
            ResultRow.hardware_key == hardware_key,
            ResultRow.sweep_id.in_(sweep_ids),
        )
        .group_by(ResultRow.sweep_id)
    )
    return {sweep_id: point_id for sweep_id, point_id in session.execute(chosen)}  # noqa: C416 - rows are not pairs to the type checker


def schedules_of(session: Session, spec_key: str, hardware_key: str) -> list[str]:
    """Names of the schedules that measured it there, in order."""
    chosen = select(SweepTagRow.value).where(
        SweepTagRow.sweep_id.in_(_measured(spec_key, hardware_key)), SweepTagRow.key == TAG
    )
    return list(session.scalars(chosen.distinct().order_by(SweepTagRow.value)))


def times(session: Session, sweep_ids: Collection[str]) -> dict[str, datetime]:
    """When each of these sweeps was submitted."""
    rows = session.execute(
        select(SweepRow.id, SweepRow.created_at).where(SweepRow.id.in_(sweep_ids))
    )
    return {sweep_id: at for sweep_id, at in rows}  # noqa: C416 - rows are not pairs to the type checker


def nights_of_hardware(session: Session, of: Sequence[Night]) -> Mapping[str, set[int]]:
    """Which of these nights each hardware_key measured."""
    number_of = {night.sweep_id: number for number, night in enumerate(of)}
    chosen = (
        select(ResultRow.sweep_id, ResultRow.hardware_key)
        .where(ResultRow.sweep_id.in_(number_of))
        .distinct()
    )
    found: dict[str, set[int]] = defaultdict(set)
    for sweep_id, hardware_key in session.execute(chosen):
        found[hardware_key].add(number_of[sweep_id])
    return found


def readings(
    session: Session,
    of: Sequence[Night],
    *,
    spec_key: str | None = None,
    with_versions: bool = True,
    num_controls: int | None = None,
) -> Mapping[str, list[Reading]]:
    """What was measured on these nights, of one case or all, by hardware_key.

    Versions and controls stand in documents of each result, which are the dearest part to read:
    controls are read of so many of the newest nights alone.
    """
    night_of = {night.sweep_id: number for number, night in enumerate(of)}
    night_of |= {again: night_of[first] for again, first in _reruns(session, list(night_of))}
    control: SQLCoreOperations[ControlSummary | None] = ResultRow.control
    if num_controls is not None:
        first = len(of) - num_controls
        newest = [sweep_id for sweep_id, number in night_of.items() if number >= first]
        control = case((ResultRow.sweep_id.in_(newest), ResultRow.control)).label("control")
    chosen = (
        select(
            ResultRow.sweep_id,
            ResultRow.hardware_key,
            ResultRow.node,
            ResultRow.spec_key,
            ResultRow.step_time_us,
            ResultRow.compute_time_us,
            control,
            ResultRow.environment if with_versions else null().label("environment"),
            PointRow.tp_degree,
        )
        .join(PointRow, PointRow.id == ResultRow.point_id)
        .where(ResultRow.sweep_id.in_(night_of))
    )
    if spec_key is not None:
        chosen = chosen.where(ResultRow.spec_key == spec_key)
    found: dict[str, list[Reading]] = defaultdict(list)
    rows = session.connection().execute(chosen)
    for sweep_id, hardware_key, node, key, step_us, compute_us, beside, ran, num_ranks in rows:
        share = share_of_communication(step_us=step_us, compute_us=compute_us)
        found[hardware_key].append(
            Reading(
                night=night_of[sweep_id],
                node=node,
                case=key,
                num_ranks=num_ranks,
                step_time_us=step_us,
                communication_share=share,
                control=beside,
                versions={} if ran is None else _versions(ran),
            )
        )
    return found


def _reruns(session: Session, sweep_ids: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Finished re-runs, each with the sweep that it repeats."""
    chosen = (
        select(SweepTagRow.sweep_id, SweepTagRow.value)
        .join(SweepRow, SweepRow.id == SweepTagRow.sweep_id)
        .where(
            SweepTagRow.key == RERUN_OF,
            SweepTagRow.value.in_(sweep_ids),
            SweepRow.finished_at.is_not(None),
        )
    )
    return [(again, first) for again, first in session.execute(chosen)]


def _versions(environment: Environment) -> Mapping[str, str]:
    found = zip(COVARIATES, _COVARIATES(environment), strict=True)
    return {name: value for name, value in found if value is not None}
