"""What has been reported night by night, each thing once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from service.analysis.changepoints.changes import Change
from service.analysis.changepoints.dispersion import Spread
from service.analysis.changepoints.drift import Slope
from service.analysis.changepoints.judgement import Judgement

SAME_CHANGE = 7
SAME_SPREAD = 20
"""Nights that the place of one and the same finding may move as more nights are known."""

Finding = TypeVar("Finding", Change, Slope, Spread)


@dataclass(frozen=True, slots=True)
class Reported(Generic[Finding]):
    """A finding as it was last found, and which night first told of it."""

    finding: Finding
    night: int | None
    """None where the series was judged at once."""
    withdrawn: int | None = None
    """The night from which on it was no longer found; None where it still is."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything reported so far; of drifts and of changes of spread, the newest."""

    changes: tuple[Reported[Change], ...] = ()
    drift: Reported[Slope] | None = None
    dispersion: Reported[Spread] | None = None

    def with_night(self, found: Judgement, *, night: int, first: int, settled: int) -> "Ledger":
        """Add what the judgement of the nights from place `first` up to this one has that is new.

        Changes before place `settled` stay as they are: there it sees too little before them.
        """
        moved = [replace(new, place=new.place + first) for new in found.regimes.changes]
        fixed = [old for old in self.changes if old.finding.place < settled]
        open_ones = self.changes[len(fixed) :]
        changes = _changes(open_ones, [new for new in moved if new.place >= settled], night)
        drift, spread = found.drift, found.dispersion
        if drift is not None:
            drift = replace(drift, start=drift.start + first, end=drift.end + first)
        if spread is not None:
            spread = replace(spread, place=spread.place + first)
        return Ledger(
            changes=(*fixed, *changes),
            drift=_single(self.drift, drift, night, is_same=_is_same_slope),
            dispersion=_single(self.dispersion, spread, night, is_same=_is_same_spread),
        )


def _changes(
    known: Sequence[Reported[Change]], found: Sequence[Change], night: int
) -> list[Reported[Change]]:
    """Pair what is known with what is found, the nearest first, each once; in order of place."""
    near = sorted(
        (abs(new.place - old.finding.place), i, k)
        for i, old in enumerate(known)
        for k, new in enumerate(found)
        if new.is_rise == old.finding.is_rise and abs(new.place - old.finding.place) <= SAME_CHANGE
    )
    pairs: dict[int, int] = {}
    for _, i, k in near:
        if i not in pairs and k not in pairs.values():
            pairs[i] = k
    old = [
        replace(item, finding=found[pairs[i]], withdrawn=None)
        if i in pairs
        else _withdrawn(item, night)
        for i, item in enumerate(known)
    ]
    new = [Reported(found[k], night) for k in range(len(found)) if k not in pairs.values()]
    return sorted((*old, *new), key=lambda item: item.finding.place)


def _single(
    known: Reported[Finding] | None,
    found: Finding | None,
    night: int,
    *,
    is_same: Callable[[Finding, Finding], bool],
) -> Reported[Finding] | None:
    if found is None:
        return known and _withdrawn(known, night)
    if known is None or not is_same(known.finding, found):
        return Reported(found, night)
    return replace(known, finding=found, withdrawn=None)


def _withdrawn(item: Reported[Finding], night: int) -> Reported[Finding]:
    return item if item.withdrawn is not None else replace(item, withdrawn=night)


def _is_same_slope(old: Slope, new: Slope) -> bool:
    return old.is_rise == new.is_rise and old.start < new.end and new.start < old.end


def _is_same_spread(old: Spread, new: Spread) -> bool:
    return old.is_rise == new.is_rise and abs(old.place - new.place) <= SAME_SPREAD
