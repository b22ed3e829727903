"""The queue of trials: claimed in one statement, fenced by the attempt number, judged by the database's clock.

Every function that ends or returns a lease raises LeaseLostError if a newer attempt owns the trial.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from service.store.leases import DEFAULT_MAX_ATTEMPTS, Failure, Lease, Offer
from service.store.states import TrialState
from workers.contract.trial import TrialResult


@dataclass(frozen=True, slots=True)
class Recovered:
    """A lease that ran out, and what became of its trial."""

    trial_id: str
    sweep_id: str
    attempt: int
    owner: str
    state: TrialState
    """queued, failed past the budget, cancelled with its sweep."""


def claim(
    session: Session,
    *,
    owner: str,
    offer: Offer,
    ttl: timedelta,
    prefer: tuple[str, int] | None = None,
) -> Lease | None:
    """Lease the most urgent trial that the offer can run, or None. Never waits for another claim.

    Order: priority, then `prefer` (the sweep and replicate the group is in), then age, replicate,
    position. A replicate that another group holds is left to it.
    """
    raise NotImplementedError


def start(session: Session, lease: Lease) -> None:
    """leased -> running."""
    raise NotImplementedError


def heartbeat(session: Session, leases: Sequence[Lease], *, ttl: timedelta) -> list[Lease]:
    """Renew; return those that are lost: expired, or another attempt's."""
    raise NotImplementedError


def complete(session: Session, lease: Lease, result: TrialResult) -> None:
    """Store the result and end the trial, both or neither."""
    raise NotImplementedError


def fail(
    session: Session,
    lease: Lease,
    failure: Failure,
    *,
    retry: bool,
    delay: timedelta = timedelta(0),
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
) -> TrialState:
    """End the attempt: queued again after `delay` while the budget lasts, else failed."""
    raise NotImplementedError


def release(session: Session, lease: Lease) -> TrialState:
    """Give the trial back unharmed (graceful stop): the attempt does not count against the budget."""
    raise NotImplementedError


def cancel(session: Session, lease: Lease) -> None:
    """Close a held trial of a cancelled sweep, once its ranks have stopped."""
    raise NotImplementedError


def cancelled(session: Session, leases: Sequence[Lease]) -> list[Lease]:
    """Those whose sweep was cancelled: stop them, then `cancel` them."""
    raise NotImplementedError


def recover_expired(
    session: Session, *, max_attempts: int = DEFAULT_MAX_ATTEMPTS
) -> list[Recovered]:
    """Take back every lease that ran out."""
    raise NotImplementedError
