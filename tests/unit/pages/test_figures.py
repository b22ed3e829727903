"""Figures are short and have their unit."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from service.pages import figures
from service.reports.estimates import EstimateReport


def test_times_say_their_unit_and_none_is_a_dash() -> None:
    assert [figures.time_us(3.14159), figures.time_us(None)] == ["3.14 µs", "-"]


def test_an_interval_has_the_unit_of_its_median() -> None:
    known = EstimateReport(median=1500, ci_low=900, ci_high=2100, n=3)
    assert figures.interval(known) == "1.50 [0.90, 2.10] ms"
    alone = EstimateReport(median=1500, ci_low=None, ci_high=None, n=1)
    assert figures.interval(alone) == "1.50 ms"
    assert figures.interval(None) == "-"


def test_durations_and_shares_are_dashes_where_there_are_none() -> None:
    assert [figures.duration(200), figures.duration(None)] == ["3 min 20 s", "-"]
    assert [figures.percent(0.34), figures.percent(None)] == ["34%", "-"]


@pytest.mark.parametrize(
    ("value", "shown"), [(512, "512 B"), (65536, "64.0 KiB"), (3 << 30, "3.00 GiB")]
)
def test_sizes(value: int, shown: str) -> None:
    assert figures.size(value) == shown


def test_a_time_is_utc_for_machines_and_on_hover() -> None:
    moment = datetime(2026, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert figures.when(moment) == figures.when(moment.astimezone(UTC))
    assert 'datetime="2026-02-28T23:30:00Z" title="2026-02-28 23:30:00 UTC"' in figures.when(moment)
