"""What becomes of a leased trial, as its station tells the loop."""

from dataclasses import dataclass

from service.store.leases import Lease
from workers.contract.group_events import Loss
from workers.contract.trial import TrialResult


@dataclass(frozen=True, slots=True)
class Measured:
    """A trial has its result."""

    lease: Lease
    result: TrialResult


@dataclass(frozen=True, slots=True)
class Spoiled:
    """An attempt failed."""

    lease: Lease
    loss: Loss
    node: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A cancelled trial's ranks have stopped."""

    lease: Lease


Outcome = Measured | Spoiled | Stopped
