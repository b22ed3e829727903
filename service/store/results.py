"""Results: one for each point of a trial that succeeded, written once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby, starmap

from sqlalchemy import (
    Integer,
    Select,
    String,
    and_,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy.orm import Session

from service.analysis.control import ControlSummary
from service.analysis.summary import TrialSummary
from service.errors import NotFoundError
from service.store import result_rows
from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.pages import Page, cut, decode_cursor
from service.store.result_filter import ResultFilter, about_points, about_results
from service.store.result_rows import NUM_FILTERS, OF_BLOCKS, matching
from workers.contract.axes import GroupKind
from workers.contract.hardware import Environment, Hardware
from workers.contract.host_state import HostState
from workers.contract.point import PointSpec
from workers.contract.trial import Proof


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """What one trial that succeeded measured of a point, without its raw samples."""

    id: str
    """Of the trial."""
    point_id: str
    paired_with: str | None
    """Of the second point of a pair: the first, which the same trial measured."""
    sweep_id: str
    replicate: int
    attempt: int
    group_id: str
    group_kind: GroupKind
    spec: PointSpec
    spec_key: str
    hardware_key: str
    hardware: Hardware
    link_class: str
    node: str
    environment: Environment
    summary: TrialSummary
    quality: tuple[str, ...]
    stop_rule: str
    num_warmup_steps: int
    peak_memory_bytes: int
    proof: Proof
    wall_ns: int
    timed_ns: int
    created_at: datetime
    hosts: tuple[HostState, ...]
    """By rank; empty where not recorded."""

    @property
    def step_time_us(self) -> float:
        """Of its summary, as all below."""
        return self.summary.step_time_us

    @property
    def compute_time_us(self) -> float:
        """Compute-only pass."""
        return self.summary.compute_time_us

    @property
    def control(self) -> ControlSummary | None:
        """None where there was none."""
        return self.summary.control

    @property
    def exposed_communication_us(self) -> float:
        """Step minus compute."""
        return self.summary.exposed_communication_us

    @property
    def communication_share(self) -> float:
        """Exposed communication over the step."""
        return self.summary.communication_share


_COLUMNS: result_rows.Columns = (
    ResultRow.trial_id,
    ResultRow.point_id,
    PointRow.paired_with,
    ResultRow.sweep_id,
    ResultRow.replicate,
    ResultRow.attempt,
    ResultRow.group_id,
    ResultRow.group_kind,
    PointRow.spec,
    ResultRow.spec_key,
    ResultRow.hardware_key,
    HardwareRow.facts,
    ResultRow.link_class,
    ResultRow.node,
    ResultRow.environment,
    ResultRow.summary,
    ResultRow.quality,
    ResultRow.stop_rule,
    ResultRow.num_warmup_steps,
    ResultRow.peak_memory_bytes,
    ResultRow.proof,
    ResultRow.wall_ns,
    ResultRow.timed_ns,
    ResultRow.created_at,
    func.coalesce(ResultRow.hosts, literal_column("'[]'")),
)
"""In the order of a trial's fields, so that a row is taken apart at once: each name that is looked
up in it costs as much as reading a column."""


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A point with the trials that succeeded, by replicate."""

    point_id: str
    sweep_id: str
    trials: tuple[MeasuredTrial, ...]


def measured(
    session: Session, which: ResultFilter, *, newest: int | None = None
) -> list[MeasuredTrial]:
    """Every trial that matches, by point and replicate; or so many of the newest sweeps."""
    rows = result_rows.found(session, _COLUMNS, which, newest=newest)
    return list(starmap(MeasuredTrial, rows))


def count(session: Session, which: ResultFilter, *, at_most: int) -> int:
    """How many trials match; counting stops at so many."""
    some = _counted(which.asked).limit(at_most).subquery()
    counted = select(func.count()).select_from(some)
    return session.connection().execute(counted, which.parameters).scalar_one()


def page(
    session: Session, which: ResultFilter, *, limit: int, cursor: str | None = None
) -> Page[MeasuredPoint]:
    """Points that have results: newest sweep first, each in the order of its grid."""
    parameters = {**which.parameters, "most": limit + 1}
    if cursor is not None:
        sweep_id, position = decode_cursor(cursor, filters=which, types=(str, int))
        parameters |= {"after_sweep_id": sweep_id, "after_position": position}
    chosen = _points(which.asked, goes_on=cursor is not None)
    rows = session.connection().execute(chosen, parameters).all()
    points = cut(rows, limit=limit, key=lambda row: (row.sweep_id, row.position), filters=which)
    if not points.items:
        return Page(items=(), next_cursor=None)
    ids = tuple(row.id for row in points.items)
    trials = measured(session, replace(which, point_ids=ids))
    return Page(items=_by_point(trials), next_cursor=points.next_cursor)


def find(session: Session, result_id: str) -> MeasuredPoint:
    """Return a point's trials: the id is the point's. NotFoundError if it has no result."""
    found = _by_point(measured(session, ResultFilter(point_ids=(result_id,))))
    if not found:
        raise NotFoundError(f"there is no result {result_id!r}")
    return found[0]


def _by_point(trials: Iterable[MeasuredTrial]) -> tuple[MeasuredPoint, ...]:
    groups = groupby(trials, key=lambda trial: trial.point_id)
    points = ((point_id, tuple(group)) for point_id, group in groups)
    return tuple(MeasuredPoint(point_id, group[0].sweep_id, group) for point_id, group in points)


@lru_cache(NUM_FILTERS)
def _counted(asked: frozenset[str]) -> Select[int]:
    return (
        select(literal(1))
        .select_from(ResultRow)
        .join(PointRow, PointRow.id == ResultRow.point_id)
        .where(*matching(asked))
    )


@lru_cache(NUM_FILTERS)
def _points(asked: frozenset[str], *, goes_on: bool) -> Select[str, str, int]:
    has_results = exists(select(1).where(ResultRow.point_id == PointRow.id, *about_results(asked)))
    chosen = (
        select(PointRow.id, PointRow.sweep_id, PointRow.position)
        .where(OF_BLOCKS, *about_points(asked), has_results)
        .order_by(PointRow.sweep_id.desc(), PointRow.position)
        .limit(bindparam("most"))
    )
    if not goes_on:
        return chosen
    sweep_id = bindparam("after_sweep_id", type_=String())
    position = bindparam("after_position", type_=Integer())
    return chosen.where(
        or_(
            PointRow.sweep_id < sweep_id,
            and_(PointRow.sweep_id == sweep_id, PointRow.position > position),
        )
    )
