"""What a schedule does, on a clock that is passed in."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.schedules.decide import (
    MOST_LISTED,
    MOST_WAITING,
    Action,
    Judgement,
    Pause,
    Policies,
    decide,
    judge_overlap,
)
from service.analysis.schedules.spec import CatchUp, Overlap
from service.analysis.schedules.timetable import Timetable

NIGHTLY = Timetable("0 2 * * *", "UTC")
FRIDAY = datetime(2026, 1, 2, 12, tzinfo=UTC)
NIGHT = timedelta(days=1)
FIRED, SKIPPED, MISSED = Action.FIRED, Action.SKIPPED, Action.MISSED


def judged(
    now: datetime,
    *,
    since: datetime = FRIDAY,
    catch_up: CatchUp = CatchUp.LATEST,
    most: int = 3,
    pause: Pause | None = None,
    timetable: Timetable = NIGHTLY,
    num_unfinished: int = 0,
    is_early: bool = False,
) -> Judgement:
    return decide(
        timetable,
        Policies(catch_up, most, Overlap.QUEUE),
        now=now,
        decided_until=since,
        pause=pause,
        num_unfinished=num_unfinished,
        is_early=is_early,
    )


def actions(judgement: Judgement) -> list[Action]:
    return [one.action for one in judgement.decisions]


def test_nothing_is_due_before_its_time_and_the_next_start_is_known() -> None:
    found = judged(FRIDAY + timedelta(hours=1))
    assert found.decisions == ()
    assert found.next_start_at == datetime(2026, 1, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize("catch_up", CatchUp)
def test_a_time_that_has_come_fires_once(catch_up: CatchUp) -> None:
    now = datetime(2026, 1, 3, 2, 0, 1, tzinfo=UTC)
    found = judged(now, catch_up=catch_up)
    assert [(one.action, one.reason) for one in found.decisions] == [(FIRED, "on time")]
    again = judged(now + timedelta(seconds=2), since=found.decided_until, catch_up=catch_up)
    assert again.decisions == ()


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        (CatchUp.SKIP, [MISSED, MISSED, MISSED]),
        (CatchUp.LATEST, [MISSED, MISSED, FIRED]),
        (CatchUp.ALL, [MISSED, FIRED, FIRED]),
    ],
)
def test_three_nights_down(catch_up: CatchUp, expected: list[Action]) -> None:
    found = judged(datetime(2026, 1, 5, 9, tzinfo=UTC), catch_up=catch_up, most=2)
    assert actions(found) == expected
    assert found.next_start_at == datetime(2026, 1, 6, 2, tzinfo=UTC)
    first = found.decisions[0]
    assert first.reason.startswith(
        "missed: nothing could be started from 2026-01-03 02:00 UTC to 2026-01-05 09:00 UTC"
    )
    assert all("late by" in one.reason for one in found.decisions if one.action is FIRED)


def test_a_night_that_is_on_time_fires_also_where_those_before_were_missed() -> None:
    now = datetime(2026, 1, 5, 2, 1, tzinfo=UTC)
    assert actions(judged(now, catch_up=CatchUp.SKIP)) == [MISSED, MISSED, FIRED]


def test_a_pause_leaves_out_its_nights_with_the_reason_and_ends_by_itself() -> None:
    until = datetime(2026, 1, 5, tzinfo=UTC)
    pause = Pause(FRIDAY, until, "the lab moves")
    now = datetime(2026, 1, 3, 2, 0, 1, tzinfo=UTC)
    (during,) = judged(now, pause=pause).decisions
    assert during.action is SKIPPED
    assert during.reason == "paused until 2026-01-05 00:00 UTC: the lab moves"
    after = judged(datetime(2026, 1, 5, 2, tzinfo=UTC), pause=pause)
    assert actions(after) == [SKIPPED, SKIPPED, FIRED]


def test_nothing_is_made_up_for_during_a_pause() -> None:
    pause = Pause(datetime(2026, 1, 4, tzinfo=UTC), None, "broken fan")
    found = judged(datetime(2026, 1, 4, 12, tzinfo=UTC), pause=pause)
    assert actions(found) == [SKIPPED, SKIPPED]
    assert all("broken fan" in one.reason for one in found.decisions)


def test_an_offset_puts_off_the_start_and_not_the_name() -> None:
    timetable = Timetable("0 2 * * *", "UTC", timedelta(minutes=7))
    early = judged(datetime(2026, 1, 3, 2, 6, tzinfo=UTC), timetable=timetable)
    assert early.decisions == ()
    assert early.next_start_at == datetime(2026, 1, 3, 2, 7, tzinfo=UTC)
    (one,) = judged(datetime(2026, 1, 3, 2, 7, tzinfo=UTC), timetable=timetable).decisions
    assert (one.scheduled_for.minute, one.reason) == (0, "on time")


@pytest.mark.parametrize("catch_up", CatchUp)
def test_what_an_offset_puts_off_is_decided_at_once_where_that_is_early(catch_up: CatchUp) -> None:
    timetable = Timetable("0 2 * * *", "UTC", timedelta(minutes=30))
    now = datetime(2026, 1, 3, 2, 10, tzinfo=UTC)
    early = judged(now, timetable=timetable, catch_up=catch_up, is_early=True)
    assert [(one.action, one.reason) for one in early.decisions] == [(FIRED, "on time")]
    assert early.decided_until == now


@pytest.mark.parametrize(("num_unfinished", "num_fired"), [(0, MOST_WAITING), (8, 2), (12, 1)])
def test_of_more_nights_than_may_wait_the_newest_are_made_up_for(
    num_unfinished: int, num_fired: int
) -> None:
    now = FRIDAY + 20 * NIGHT
    found = judged(now, catch_up=CatchUp.ALL, most=20, num_unfinished=num_unfinished)
    assert actions(found) == [MISSED] * (20 - num_fired) + [FIRED] * num_fired
    told = f"catch_up is all the newest {num_fired}, and at most {MOST_WAITING} wait"
    assert all(told in one.reason for one in found.decisions if one.action is MISSED)


def test_a_year_of_missed_minutes_has_a_bounded_number_of_rows() -> None:
    found = judged(FRIDAY + 365 * NIGHT, timetable=Timetable("* * * * *", "UTC"))
    assert len(found.decisions) == MOST_LISTED + 1
    assert "every time before" in found.decisions[0].reason
    assert found.decisions[0].scheduled_for == FRIDAY + timedelta(minutes=1)
    assert actions(found).count(FIRED) == 1


def test_a_clock_that_is_set_back_does_not_silence_a_schedule() -> None:
    ahead = judged(FRIDAY + 365 * NIGHT, catch_up=CatchUp.SKIP)
    back = judged(FRIDAY + timedelta(hours=1), since=ahead.decided_until)
    assert back.decisions == ()
    assert back.next_start_at == datetime(2026, 1, 3, 2, tzinfo=UTC)
    second = judged(FRIDAY - timedelta(seconds=1), since=FRIDAY)
    assert second.decided_until == FRIDAY, "a step of a second is waited for"


def test_both_changes_of_the_clock_fire_every_night_once() -> None:
    timetable = Timetable("30 2 * * *", "Europe/Berlin")
    for start in (datetime(2026, 3, 26, tzinfo=UTC), datetime(2026, 10, 22, tzinfo=UTC)):
        since, fired = start, 0
        for step in range(6 * 24 * 2 + 1):
            found = judged(start + timedelta(minutes=30 * step), since=since, timetable=timetable)
            since, fired = found.decided_until, fired + actions(found).count(FIRED)
        assert fired == 6


@settings(max_examples=25)
@given(
    steps=st.lists(st.integers(1, 4 * 24 * 60), min_size=1, max_size=8),
    catch_up=st.sampled_from(CatchUp),
    cron=st.sampled_from(["0 2 * * *", "30 */6 * * *", "0 0 * * MON"]),
)
def test_whenever_it_is_looked_at_every_named_time_is_decided_once(
    steps: list[int], catch_up: CatchUp, cron: str
) -> None:
    timetable = Timetable(cron, "America/New_York")
    now, since = FRIDAY, FRIDAY
    seen: list[datetime] = []
    for minutes in steps:
        now += timedelta(minutes=minutes)
        found = judged(now, since=since, catch_up=catch_up, timetable=timetable)
        since = found.decided_until
        seen += [one.scheduled_for for one in found.decisions]
        assert actions(found).count(FIRED) <= (3 if catch_up is CatchUp.ALL else 1)
    assert seen == timetable.newest(after=FRIDAY, until=now, most=1000)


def test_overlaps() -> None:
    assert judge_overlap(Overlap.SKIP, []).starts
    skipped = judge_overlap(Overlap.SKIP, ["a"])
    assert (skipped.starts, skipped.cancel) == (False, ())
    assert skipped.reason == "overlap: sweep a not over; overlap is skip"
    cancelled = judge_overlap(Overlap.CANCEL_PREVIOUS, ["a", "b"])
    assert (cancelled.starts, cancelled.cancel) == (True, ("a", "b"))
    queued = judge_overlap(Overlap.QUEUE, ["a"])
    assert (queued.starts, queued.cancel, queued.reason) == (True, (), "queued behind sweep a")
    assert not judge_overlap(Overlap.QUEUE, ["a"] * MOST_WAITING).starts
