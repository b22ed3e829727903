"""Which TP degree to run a model with, and why not another.

A degree is possible where it divides the model, fits the memory and stays within one node. From the
smallest possible one the choice moves to a larger one only where that pays: its communication is at
most the threshold of the step, and its speed-up is beyond doubt worth it. For latency any speed-up
is; for throughput it has to exceed what as many GPUs would give as further replicas of the model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from service.analysis.interval import Estimate
from service.analysis.recommendation.evidence import Evidence, speed_up

DEFAULT_THRESHOLD = 0.15


class Objective(StrEnum):
    """What to make the best of."""

    LATENCY = "latency"
    """The time of a step."""
    THROUGHPUT = "throughput"
    """Tokens per second and GPU."""


@dataclass(frozen=True, slots=True)
class Degree:
    """One TP degree and what it takes."""

    tp_degree: int
    obstacle: str | None
    """Why the model does not divide."""
    needed_bytes: int | None
    """Of one GPU; None where it does not divide."""


@dataclass(frozen=True, slots=True)
class Room:
    """One node."""

    memory_bytes: int
    """Of one device; 0 where that could not be told."""
    num_devices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A degree, judged."""

    degree: Degree
    is_possible: bool
    """Divides, fits and stays within a node."""
    evidence: Evidence | None
    reason: str
    is_undecided: bool = False
    """Whether it may be better than the best smaller one, and may be worse: nobody can tell."""
    over: int | None = None
    """The smaller degree that its speed-up is against: the best one so far."""
    speed_up: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The recommendation."""

    tp_degree: int | None
    """None where nothing is possible."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    pays: bool | None
    """None where that cannot be told."""
    reason: str


def choose(
    degrees: Sequence[Degree],
    evidence: Mapping[int, Evidence],
    *,
    room: Room,
    objective: Objective,
    threshold: float,
    rng: np.random.Generator,
) -> Choice:
    """Climb from the smallest possible degree."""
    best: int | None = None
    candidates = []
    for degree in sorted(degrees, key=lambda one: one.tp_degree):
        known = evidence.get(degree.tp_degree)
        over, gain = None, None
        against = _impossible(degree, room)
        if against is not None:
            judged = _Judged(pays=False, reason=against)
        elif best is None:
            judged = _Judged(pays=True, reason="the smallest degree that divides and fits")
        else:
            over, gain = best, _gain(evidence.get(best), known, rng=rng)
            needed = 1.0 if objective is Objective.LATENCY else degree.tp_degree / best
            judged = _pays(known, gain, over=best, needed=needed, threshold=threshold)
        best = degree.tp_degree if judged.pays else best
        candidates.append(
            Candidate(
                degree=degree,
                is_possible=against is None,
                evidence=known,
                reason=judged.reason,
                is_undecided=judged.pays is None,
                over=over,
                speed_up=gain,
            )
        )
    return Choice(best, tuple(candidates))


def _impossible(degree: Degree, room: Room) -> str | None:
    if degree.obstacle is not None or degree.needed_bytes is None:
        return degree.obstacle
    if room.memory_bytes and degree.needed_bytes > room.memory_bytes:
        return (
            f"needs {degree.needed_bytes / 1e9:.1f} GB of a GPU's {room.memory_bytes / 1e9:.1f} GB"
        )
    if degree.tp_degree > room.num_devices:
        return (
            f"leaves the node of {room.num_devices} devices: its all-reduces would cross the "
            "network"
        )
    return None


def _gain(
    smaller: Evidence | None, larger: Evidence | None, *, rng: np.random.Generator
) -> Estimate | None:
    if smaller is None or larger is None:
        return None
    return speed_up(smaller, larger, rng=rng)


def _pays(
    known: Evidence | None, gain: Estimate | None, *, over: int, needed: float, threshold: float
) -> _Judged:
    """Whether it pays to go to this degree, and why."""
    if known is None or gain is None:
        return _Judged(
            pays=False, reason="nothing was measured or predicted that it could be compared by"
        )
    if known.communication_share > threshold:
        share = f"{known.communication_share:.0%} of its step is communication"
        return _Judged(pays=False, reason=f"{share}, more than {threshold:.0%}")
    said = f"{_said(gain)} over tp_degree {over}"
    if gain.low is None or gain.high is None or gain.low <= needed < gain.high:
        return _Judged(pays=None, reason=f"cannot tell: {said}, needs more than {needed:g}")
    if gain.low <= needed:
        return _Judged(pays=False, reason=f"{said}, not more than {needed:g}")
    return _Judged(pays=True, reason=f"{said}, more than {needed:g}")


def _said(gain: Estimate) -> str:
    if gain.low is None or gain.high is None:
        return f"speed-up {gain.median:.2f} from one replicate"
    return f"speed-up {gain.median:.2f} ({gain.low:.2f} to {gain.high:.2f})"
