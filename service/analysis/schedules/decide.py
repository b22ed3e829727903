"""What a schedule does now: a decision with its reason for every time it named. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from service.analysis.schedules.spec import CatchUp, Overlap
from service.analysis.schedules.timetable import Timetable

GRACE = timedelta(minutes=5)
"""A start that is late by no more was not missed."""
CLOCK_SLACK = timedelta(minutes=1)
"""A clock that is set back by more begins anew; by less, it is waited for."""
MOST_LISTED = 100
"""Missed starts that get a row each; one row speaks for all before them."""
MOST_WAITING = 10
"""Sweeps of one schedule that may wait at once where they queue."""


class Action(StrEnum):
    """What became of one named time."""

    FIRED = "fired"
    SKIPPED = "skipped"
    MISSED = "missed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Policies:
    """How a schedule wants to be treated."""

    catch_up: CatchUp
    most_catch_ups: int
    overlap: Overlap


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which nothing is started; open where `until` is None."""

    since: datetime
    until: datetime | None
    reason: str

    def covers(self, moment: datetime) -> bool:
        """Whether it lasts at that moment."""
        return self.since <= moment and (self.until is None or moment < self.until)

    @property
    def label(self) -> str:
        """Until when and why."""
        until = "" if self.until is None else f" until {_shown(self.until)}"
        return f"paused{until}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one named time, and why. `FIRED` may still be refused by an overlap."""

    scheduled_for: datetime
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Decisions in the order of their times, and from where to look on."""

    decisions: tuple[Decision, ...]
    decided_until: datetime
    next_start_at: datetime | None


@dataclass(frozen=True, slots=True)
class OverlapJudgement:
    """Whether to start beside what is not over, and which of it to cancel first."""

    starts: bool
    cancel: tuple[str, ...]
    reason: str


def decide(
    timetable: Timetable,
    policies: Policies,
    *,
    now: datetime,
    decided_until: datetime,
    pause: Pause | None,
    num_unfinished: int,
    is_early: bool = False,
) -> Judgement:
    """Judge every time named since `decided_until`; where it is early, also what is put off.

    A clock that jumped forward is a time in which nothing could be started. One that was set back
    is believed: what it names again is decided again, and the caller keeps the first decision.
    `num_unfinished` sweeps of the schedule are not over: no more is caught up on than may wait, but
    for the newest, which is told so when it finds no room.
    """
    went_back = decided_until > now + CLOCK_SLACK
    after = now if went_back else decided_until
    until = now if is_early else now - timetable.offset
    room = max(1, MOST_WAITING - num_unfinished)
    policies = replace(policies, most_catch_ups=min(policies.most_catch_ups, room))
    due = timetable.newest(after=after, until=until, most=MOST_LISTED) if until > after else []
    decisions = _judge(due, timetable, policies, now=now, pause=pause)
    reached = max(after, until)
    return Judgement(
        decisions=(*_left_out(timetable, due, after=after, now=now), *decisions),
        decided_until=reached,
        next_start_at=timetable.next_start(after=reached),
    )


def judge_overlap(overlap: Overlap, unfinished: Sequence[str]) -> OverlapJudgement:
    """Judge a start while sweeps of the same schedule, oldest first, are not over."""
    if not unfinished:
        return OverlapJudgement(starts=True, cancel=(), reason="")
    names = f"sweep {unfinished[-1]}"
    if len(unfinished) > 1:
        names = f"{len(unfinished)} sweeps, the newest of them {unfinished[-1]},"
    match overlap:
        case Overlap.SKIP:
            return OverlapJudgement(
                starts=False, cancel=(), reason=f"overlap: {names} not over; overlap is skip"
            )
        case Overlap.CANCEL_PREVIOUS:
            reason = f"{names} not over and cancelled"
            return OverlapJudgement(starts=True, cancel=tuple(unfinished), reason=reason)
        case Overlap.QUEUE:
            if len(unfinished) >= MOST_WAITING:
                reason = f"overlap: {names} not over, and at most {MOST_WAITING} wait"
                return OverlapJudgement(starts=False, cancel=(), reason=reason)
            return OverlapJudgement(starts=True, cancel=(), reason=f"queued behind {names}")
        case _:
            assert_never(overlap)


def _judge(
    due: Sequence[datetime],
    timetable: Timetable,
    policies: Policies,
    *,
    now: datetime,
    pause: Pause | None,
) -> list[Decision]:
    is_paused = pause is not None and pause.covers(now)
    free = [one for one in due if not is_paused and (pause is None or not pause.covers(one))]
    late = {one: now - one - timetable.offset for one in due}
    chosen = _chosen(free, policies, is_on_time=bool(free) and late[free[-1]] <= GRACE)
    decisions = []
    for one in due:
        if one in chosen:
            decisions.append(Decision(one, Action.FIRED, _started(late[one], policies)))
        elif pause is not None and one not in free:
            decisions.append(Decision(one, Action.SKIPPED, pause.label))
        else:
            decisions.append(Decision(one, Action.MISSED, _missed(one, now, policies)))
    return decisions


def _chosen(free: list[datetime], policies: Policies, *, is_on_time: bool) -> list[datetime]:
    """Which of the times that no pause covers are started."""
    match policies.catch_up:
        case CatchUp.SKIP:
            return free[-1:] if is_on_time else []
        case CatchUp.LATEST:
            return free[-1:]
        case CatchUp.ALL:
            return free[-policies.most_catch_ups :]
        case _:
            assert_never(policies.catch_up)


def _left_out(
    timetable: Timetable, due: Sequence[datetime], *, after: datetime, now: datetime
) -> list[Decision]:
    """One decision for everything before the listed times."""
    if len(due) < MOST_LISTED:
        return []
    first = next(timetable.occurrences(after=after))
    if first >= due[0]:
        return []
    reason = (
        f"missed, like every time before {_shown(due[0])}, which have no rows of their own: "
        f"nothing could be started until {_shown(now)}"
    )
    return [Decision(first, Action.MISSED, reason)]


def _started(late: timedelta, policies: Policies) -> str:
    if late <= GRACE:
        return "on time"
    return f"late by {late}: catch_up is {policies.catch_up.value}"


def _missed(scheduled_for: datetime, now: datetime, policies: Policies) -> str:
    kept = policies.catch_up.value
    if policies.catch_up is CatchUp.ALL:
        kept += f" the newest {policies.most_catch_ups}, and at most {MOST_WAITING} wait"
    gap = f"from {_shown(scheduled_for)} to {_shown(now)}"
    return f"missed: nothing could be started {gap}; catch_up is {kept}"


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
