"""Points of a sweep, with what became of them."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from service.store.pages import Page
from service.store.states import PointState, TrialState
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection


@dataclass(frozen=True, slots=True)
class PointError:
    """The last failure among a point's trials."""

    trial_id: str
    attempt: int
    code: str
    message: str
    rank: int | None
    signal: int | None
    node: str
    log_tail: str


@dataclass(frozen=True, slots=True)
class Point:
    """One combination, its trials and why it failed or was refused."""

    id: str
    sweep_id: str
    position: int
    """In the order of the grid; the rejected follow the rest."""
    spec: PointSpec
    spec_key: str
    state: PointState
    counts: dict[TrialState, int]
    """Trials by state; every state is there."""
    num_attempts: int
    """Over all its trials."""
    error: PointError | None
    rejection: Rejection | None


def page(
    session: Session,
    sweep_id: str,
    *,
    state: PointState | None = None,
    limit: int,
    cursor: str | None = None,
) -> Page[Point]:
    """In the order of the grid. NotFoundError if there is no such sweep."""
    raise NotImplementedError


def find(session: Session, point_id: str) -> Point:
    """NotFoundError if there is none."""
    raise NotImplementedError
