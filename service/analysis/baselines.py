"""Which earlier sweep a sweep may be held against: the last good one among those alike. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Earlier:
    """A sweep that measured the same points before."""

    sweep_id: str
    created_at: datetime
    has_succeeded: bool
    """Whether it is over and every trial of it succeeded."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A sweep that will not do, and why."""

    sweep_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class LastGood:
    """The newest sweep that did not get slower, None where there is none."""

    sweep_id: str | None
    reason: str
    passed_over: tuple[PassedOver, ...]


def looked_at(sweep_ids: Sequence[str], *, num_newest: int) -> list[str]:
    """Of sweeps, newest first, so many of the newest, further ones ever farther apart, the oldest.

    However long ago a step was, sweeps from before it are so among them, and they stay few.
    """
    oldest = len(sweep_ids) - 1
    places = [place for place in range(num_newest) if place <= oldest]
    while places and places[-1] < oldest:
        places.append(min(2 * places[-1] + 2, oldest))
    return [sweep_ids[place] for place in places]


def last_good(
    earlier: Sequence[Earlier], slower_than: Callable[[str, str], str | None]
) -> LastGood:
    """Walk from the oldest to the newest, and hold each against the last one that was good.

    `slower_than(good, sweep)` says how much slower `sweep` is, None where it is not. A step that
    stays is so never taken for good by growing used to it, given a good one from before the step.
    """
    good: Earlier | None = None
    passed_over: list[PassedOver] = []
    for one in sorted(earlier, key=lambda sweep: (sweep.created_at, sweep.sweep_id)):
        if not one.has_succeeded:
            passed_over.append(PassedOver(one.sweep_id, "not all of its trials succeeded"))
            continue
        slower = None if good is None else slower_than(good.sweep_id, one.sweep_id)
        if good is not None and slower is not None:
            passed_over.append(PassedOver(one.sweep_id, f"{slower} than sweep {good.sweep_id}"))
        else:
            good = one
    if good is None:
        return LastGood(None, _none(len(earlier)), tuple(passed_over))
    reason = (
        f"the newest of {len(earlier)} looked at that measured the same points before, succeeded "
        "and was not slower than the good one before it"
    )
    return LastGood(good.sweep_id, reason, tuple(passed_over))


def _none(num_earlier: int) -> str:
    if not num_earlier:
        return "no earlier sweep measured the same points"
    return f"none of {num_earlier} earlier sweeps of the same points succeeded"
