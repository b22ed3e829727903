"""The trial that a station holds."""

from dataclasses import dataclass

from service.store.leases import Lease
from workers.contract.trial import TrialOrder

CANCEL_GRACE_S = 0.5
"""A trial this near its end may reach it: killing its group costs more."""


@dataclass(slots=True)
class HeldTrial:
    """From the claim until it is over here."""

    lease: Lease
    order: TrialOrder | None = None
    """What its ranks were told; None before they were."""
    cancelled_at: float | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether its sweep was."""
        return self.cancelled_at is not None

    def cancel(self, *, now: float) -> None:
        """Its sweep was; the first time counts."""
        if self.cancelled_at is None:
            self.cancelled_at = now

    def must_stop(self, *, now: float) -> bool:
        """Whether it was cancelled and had its time to end by itself."""
        return self.cancelled_at is not None and now - self.cancelled_at > CANCEL_GRACE_S
