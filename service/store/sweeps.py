"""Sweeps: created, looked at, stopped, put back."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from service.store.pages import Page
from service.store.states import PointState, SweepState, TrialState
from workers.contract.sweep import Expansion, SweepSpec


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """What makes a repeated request the same request."""

    principal: str
    key: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as its rows tell it."""

    id: str
    name: str
    spec: SweepSpec
    created_at: datetime
    created_by: str
    priority: int
    tags: dict[str, str]
    seed: int
    state: SweepState
    hardware_key: str | None
    num_points: int
    """Points that are measured; the rejected are counted apart."""
    num_rejected: int
    num_trials: int
    num_done: int
    """Trials that are over, however they ended."""
    counts: dict[TrialState, int]
    """Trials by state; every state is there."""
    point_counts: dict[PointState, int]
    """Points by state; every state is there."""
    mean_trial_s: float | None
    """Wall time of a succeeded trial inside its group; None before the first."""
    cancel_requested_at: datetime | None
    finished_at: datetime | None


def create(
    session: Session,
    spec: SweepSpec,
    *,
    created_by: str,
    seed: int,
    expansion: Expansion,
    idempotency: IdempotencyKey | None = None,
) -> Sweep:
    """Store the sweep, its points and its trials; the first one again if the key was used before."""
    raise NotImplementedError


def replay_idempotent(session: Session, *, principal: str, key: str, body_hash: str) -> str | None:
    """Id of the sweep this key made, None if it made none.

    IdempotencyMismatchError if it made one from another body.
    """
    raise NotImplementedError


def find(session: Session, sweep_id: str) -> Sweep:
    """NotFoundError if there is none."""
    raise NotImplementedError


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
    raise NotImplementedError


def cancel(session: Session, sweep_id: str) -> Sweep:
    """Cancel what is queued; what is held ends through its dispatcher. No effect on a sweep that is over."""
    raise NotImplementedError


def retry(session: Session, sweep_id: str) -> Sweep:
    """Put failed trials back. ConflictError if none failed or the sweep was cancelled."""
    raise NotImplementedError
