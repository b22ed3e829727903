"""Raw samples: whole integer arrays, compressed, exactly as they were measured."""

from sqlalchemy.orm import Session

from workers.contract.axes import Pass
from workers.contract.trial import CollectiveTiming, PassSamples


def find(session: Session, trial_id: str) -> dict[Pass, tuple[PassSamples, ...]]:
    """Samples by pass, indexed by rank; empty where the trial has no result."""
    raise NotImplementedError


def collectives(session: Session, trial_id: str) -> tuple[CollectiveTiming, ...]:
    """Wire and wait of every collective over the steps of the split pass."""
    raise NotImplementedError
