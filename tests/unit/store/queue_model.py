"""What the queue ought to do, said once more and differently: plain objects, no SQL.

The model numbers grants by itself: one that read the queue's own attempt numbers would agree with a
queue that forgets to raise them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from service.store.leases import Grant, Offer
from service.store.states import SweepState, TrialState

HELD = (TrialState.LEASED, TrialState.RUNNING)
ACTIVE = (TrialState.QUEUED, *HELD)
MAX_ATTEMPTS = 3
Pass = tuple[str, int]
"""A sweep and the number of a replicate."""


@dataclass
class ModelTrial:
    """One trial."""

    id: str
    replicate: int
    position: int
    state: TrialState = TrialState.QUEUED
    num_grants: int = 0
    num_charged: int = 0
    num_lost: int = 0
    """Of those, the ones whose lease ran out."""
    owner: str | None = None
    expires_at: datetime | None = None

    def end(self, state: TrialState) -> None:
        self.state, self.owner, self.expires_at = state, None, None

    def put_back(self) -> None:
        """With a new budget."""
        self.state, self.num_charged, self.num_lost = TrialState.QUEUED, 0, 0


@dataclass
class ModelSweep:
    """One sweep and its trials."""

    id: str
    priority: int
    age: int
    trials: list[ModelTrial]
    hardware_key: str | None = None
    is_cancelled: bool = False

    @property
    def states(self) -> list[TrialState]:
        return [trial.state for trial in self.trials]

    @property
    def is_over(self) -> bool:
        return not set(self.states) & set(ACTIVE)

    @property
    def state(self) -> SweepState:
        found = set(self.states)
        if not self.is_over:
            return SweepState.QUEUED if found == {TrialState.QUEUED} else SweepState.RUNNING
        if TrialState.CANCELLED in found:
            return SweepState.CANCELLED
        return SweepState.PARTIAL if len(found) == 2 else SweepState(found.pop())

    def cancel(self) -> None:
        if not self.is_over:
            self.is_cancelled = True
            for trial in self.trials:
                if trial.state is TrialState.QUEUED:
                    trial.end(TrialState.CANCELLED)


@dataclass
class QueueModel:
    """All sweeps, by id."""

    sweeps: dict[str, ModelSweep] = field(default_factory=dict)

    def trials(self) -> Iterator[tuple[ModelSweep, ModelTrial]]:
        for sweep in self.sweeps.values():
            for trial in sweep.trials:
                yield sweep, trial

    def trial(self, trial_id: str) -> ModelTrial:
        return next(trial for _, trial in self.trials() if trial.id == trial_id)

    def next_trial(
        self, owner: str, offer: Offer, prefer: Pass | None
    ) -> tuple[ModelSweep, ModelTrial] | None:
        """Which trial a claim has to give out."""
        ready = [
            (sweep, trial)
            for sweep, trial in self.trials()
            if trial.state is TrialState.QUEUED
            and not sweep.is_cancelled
            and sweep.hardware_key in (None, offer.hardware_key)
            and not self._is_taken((sweep.id, trial.replicate), owner, prefer)
        ]
        return min(
            ready,
            key=lambda found: (
                -found[0].priority,
                (found[0].id, found[1].replicate) != prefer,
                found[0].age,
                found[1].replicate,
                found[1].position,
            ),
            default=None,
        )

    def grant(self, trial: ModelTrial, owner: str, expires_at: datetime) -> int:
        """Hand the trial out; return the model's own number of the grant."""
        trial.state, trial.owner, trial.expires_at = TrialState.LEASED, owner, expires_at
        trial.num_grants += 1
        trial.num_charged += 1
        return trial.num_grants

    def owns(self, trial_id: str, grant: int) -> bool:
        trial = self.trial(trial_id)
        return trial.state in HELD and trial.num_grants == grant

    def expired(self, now: datetime) -> set[str]:
        return {
            trial.id
            for _, trial in self.trials()
            if trial.expires_at is not None and trial.expires_at <= now
        }

    def return_trial(
        self, grant: Grant, *, is_final: bool = False, is_charged: bool = True
    ) -> None:
        """End an attempt whose holder brought no result."""
        trial = self.trial(grant.trial_id)
        spent = is_final or (is_charged and trial.num_charged >= MAX_ATTEMPTS)
        self._end(grant, spent=spent)
        if not is_charged:
            trial.num_charged -= 1

    def take_back(self, grant: Grant) -> None:
        """End an attempt whose lease ran out."""
        trial = self.trial(grant.trial_id)
        trial.num_lost += 1
        self._end(grant, spent=trial.num_lost >= MAX_ATTEMPTS)

    def _end(self, grant: Grant, *, spent: bool) -> None:
        trial = self.trial(grant.trial_id)
        if spent:
            trial.end(TrialState.FAILED)
        elif self.sweeps[grant.sweep_id].is_cancelled:
            trial.end(TrialState.CANCELLED)
        else:
            trial.end(TrialState.QUEUED)

    def _is_taken(self, wanted: Pass, owner: str, prefer: Pass | None) -> bool:
        """Whether the pass runs in another group than the claiming one."""
        holders = {
            trial.owner
            for sweep, trial in self.trials()
            if trial.state in HELD and (sweep.id, trial.replicate) == wanted
        }
        return bool(holders) and (holders != {owner} or wanted != prefer)
