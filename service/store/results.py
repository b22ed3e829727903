"""Results: one for each trial that succeeded, written once."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from service.analysis.summary import TrialSummary
from service.store.leases import Lease
from service.store.pages import Page
from workers.contract.axes import (
    Arrangement,
    Block,
    CollectiveImpl,
    Dtype,
    GroupKind,
    Overlap,
    Phase,
)
from workers.contract.hardware import Environment, Hardware
from workers.contract.point import PointSpec
from workers.contract.trial import Proof, TrialResult


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """One trial that succeeded, without its raw samples."""

    id: str
    """Of the trial."""
    point_id: str
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


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A point with the trials that succeeded, by replicate."""

    point_id: str
    sweep_id: str
    trials: tuple[MeasuredTrial, ...]


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Which results; an empty tuple or None lets everything pass."""

    sweep_ids: tuple[str, ...] = ()
    point_ids: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Names."""
    blocks: tuple[Block, ...] = ()
    phases: tuple[Phase, ...] = ()
    arrangements: tuple[Arrangement, ...] = ()
    tp_degrees: tuple[int, ...] = ()
    batches: tuple[int, ...] = ()
    seqs: tuple[int, ...] = ()
    dtypes: tuple[Dtype, ...] = ()
    collective_impls: tuple[CollectiveImpl, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    spec_keys: tuple[str, ...] = ()
    hardware_keys: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    """Names as the hardware has them."""
    nodes: tuple[str, ...] = ()
    tag: tuple[str, str] | None = None
    """Of the sweep: a key and its value."""
    since: datetime | None = None
    until: datetime | None = None


def record(session: Session, lease: Lease, result: TrialResult) -> None:
    """Store what the trial measured; called by queue.complete in the transaction that ends it."""
    raise NotImplementedError


def measured(session: Session, which: ResultFilter) -> list[MeasuredTrial]:
    """Every trial that matches, by point and replicate."""
    raise NotImplementedError


def page(
    session: Session, which: ResultFilter, *, limit: int, cursor: str | None = None
) -> Page[MeasuredPoint]:
    """Points that have results: newest sweep first, each in the order of its grid."""
    raise NotImplementedError


def find(session: Session, result_id: str) -> MeasuredPoint:
    """A result is a point's, over its trials: the id is the point's. NotFoundError if there is none."""
    raise NotImplementedError
