"""When cron expressions fire: zones, both changes of the clock, leap days."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.schedules.timetable import Timetable, offset_of

BERLIN = "Europe/Berlin"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def first(cron: str, zone: str, after: str, count: int = 3) -> list[str]:
    found = Timetable(cron, zone).occurrences(after=utc(after))
    return [f"{one:%Y-%m-%d %H:%M}" for one in islice(found, count)]


def test_a_night_follows_its_zone_through_the_year() -> None:
    assert first("0 2 * * *", BERLIN, "2026-01-01T12:00", 1) == ["2026-01-02 01:00"]
    assert first("0 2 * * *", BERLIN, "2026-07-01T12:00", 1) == ["2026-07-02 00:00"]
    assert first("0 2 * * *", "UTC", "2026-07-01T12:00", 1) == ["2026-07-02 02:00"]


def test_a_time_that_the_clock_skips_fires_at_the_next_that_exists() -> None:
    # 2026-03-29: 02:00 becomes 03:00 CEST, which is 01:00 UTC.
    found = first("30 2 * * *", BERLIN, "2026-03-27T12:00")
    assert found == ["2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"]
    assert first("15,45 2 * * *", BERLIN, "2026-03-29T00:59")[:2] == [
        "2026-03-29 01:00",
        "2026-03-30 00:15",
    ]


def test_a_time_that_the_clock_shows_twice_fires_once() -> None:
    # 2026-10-25: 03:00 CEST becomes 02:00 CET, so 02:30 is at 00:30 and 01:30 UTC.
    found = first("30 2 * * *", BERLIN, "2026-10-24T12:00")
    assert found == ["2026-10-25 00:30", "2026-10-26 01:30", "2026-10-27 01:30"]


@pytest.mark.parametrize("after", ["2026-10-25T00:30", "2026-10-25T01:10", "2026-10-25T01:40"])
def test_looking_again_inside_the_hour_that_is_shown_twice_changes_nothing(after: str) -> None:
    assert first("30 2 * * *", BERLIN, after, 1) == ["2026-10-26 01:30"]


def test_every_hour_is_every_hour_whatever_the_clock_shows() -> None:
    found = first("0 * * * *", BERLIN, "2026-10-24T23:30", 4)
    assert [one[11:13] for one in found] == ["00", "01", "02", "03"]


def test_a_leap_day_fires_in_leap_years_only() -> None:
    found = first("0 0 29 2 *", "UTC", "2026-01-01T00:00", 2)
    assert found == ["2028-02-29 00:00", "2032-02-29 00:00"]
    assert first("0 0 L 2 *", "UTC", "2027-01-01T00:00", 2) == [
        "2027-02-28 00:00",
        "2028-02-29 00:00",
    ]


def test_the_southern_half_changes_the_other_way_round() -> None:
    # Lord Howe moves by half an hour: on 2026-10-04 02:00 becomes 02:30, which is 15:30 UTC.
    found = first("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00", 1)
    assert found == ["2026-10-03 15:30"]


@settings(max_examples=25)
@given(
    start=st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)),  # noqa: DTZ001 - made aware
    zone=st.sampled_from([BERLIN, "UTC", "America/New_York", "Australia/Lord_Howe"]),
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
)
def test_a_daily_time_fires_once_on_every_local_day(
    start: datetime, zone: str, minute: int, hour: int
) -> None:
    timetable = Timetable(f"{minute} {hour} * * *", zone)
    after = start.replace(tzinfo=UTC)
    found = list(islice(timetable.occurrences(after=after), 10))
    days = [one.astimezone(ZoneInfo(zone)).date() for one in found]
    assert all(b - a == timedelta(days=1) for a, b in pairwise(days))
    assert found[0] > after
    restarted = [next(timetable.occurrences(after=one)) for one in found[:-1]]
    assert restarted == found[1:], "looking on from any of them finds the same"


@settings(max_examples=25)
@given(
    minutes=st.integers(0, 60 * 24 * 90),
    most=st.integers(1, 5),
    cron=st.sampled_from(["0 2 * * *", "*/20 * * * *", "30 1 1 * *", "0 0 29 2 *"]),
)
def test_the_newest_are_the_end_of_all_there_are(minutes: int, most: int, cron: str) -> None:
    timetable = Timetable(cron, BERLIN)
    after = datetime(2027, 3, 1, 7, 3, tzinfo=UTC)
    until = after + timedelta(minutes=minutes)
    inside = list(takewhile(lambda one: one <= until, timetable.occurrences(after=after)))
    assert timetable.newest(after=after, until=until, most=most) == inside[-most:]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize(
    ("cron", "after"),
    [
        ("0 2 * * *", "9999-12-01T00:00"),
        ("*/20 * * * *", "9999-12-31T00:00"),
        ("0 0 29 2 *", "9995-01-01T00:00"),
    ],
)
def test_times_end_with_the_calendar(cron: str, after: str, zone: str) -> None:
    timetable = Timetable(cron, zone)
    found = list(timetable.occurrences(after=utc(after)))
    for end in (found[-1], datetime.max.replace(tzinfo=UTC)):
        assert list(timetable.occurrences(after=end)) == []
        assert timetable.next_start(after=end) is None


def test_a_start_that_is_put_off_beyond_the_calendar_is_none() -> None:
    timetable = Timetable("*/20 * * * *", "UTC", offset=timedelta(minutes=30))
    after = utc("9999-12-31T22:50")
    assert [f"{one:%H:%M}" for one in timetable.occurrences(after=after)] == [
        "23:00",
        "23:20",
        "23:40",
    ]
    assert [f"{one:%H:%M}" for one in timetable.starts(after=after)] == ["23:30", "23:50"]


def test_offsets_are_fixed_and_spread_over_the_jitter() -> None:
    offsets = {name: offset_of(name, jitter_s=600) for name in map(str, range(50))}
    assert offsets == {name: offset_of(name, jitter_s=600) for name in offsets}
    assert all(timedelta(0) <= one <= timedelta(seconds=600) for one in offsets.values())
    assert len(set(offsets.values())) > 40
    assert offset_of("x", jitter_s=0) == timedelta(0)
