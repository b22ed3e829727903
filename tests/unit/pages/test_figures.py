"""Figures are short and have their unit."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from service.pages import figures
from service.reports.estimates import EstimateReport


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0314, "0.0314 µs"),
        (3.14159, "3.14 µs"),
        (31.4, "31.4 µs"),
        (314.1, "314 µs"),
        (-31.4, "-31.4 µs"),
        (1500, "1.50 ms"),
        (2.5e6, "2.50 s"),
        (1.2345e9, "1,234 s"),
        (None, "-"),
    ],
)
def test_times(value: float | None, shown: str) -> None:
    assert figures.time_us(value) == shown


def test_an_interval_has_the_unit_of_its_median() -> None:
    known = EstimateReport(median=1500, ci_low=900, ci_high=2100, n=3)
    assert figures.interval(known) == "1.50 [0.9, 2.10] ms"
    alone = EstimateReport(median=1500, ci_low=None, ci_high=None, n=1)
    assert figures.interval(alone) == "1.50 ms"
    assert figures.interval(None) == "-"


@pytest.mark.parametrize(
    ("value", "shown"), [(42, "42 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (1e5, "1 d 3 h")]
)
def test_durations(value: float, shown: str) -> None:
    assert figures.duration(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(512, "512 B"), (65536, "64.0 KiB"), (3 << 30, "3.00 GiB")]
)
def test_sizes(value: int, shown: str) -> None:
    assert figures.size(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.034, "3.4%"), (0.34, "34%"), (None, "-")])
def test_shares(value: float | None, shown: str) -> None:
    assert figures.percent(value) == shown


def test_a_time_is_utc_for_machines_and_on_hover() -> None:
    moment = datetime(2026, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert figures.when(moment) == figures.when(moment.astimezone(UTC))
    assert 'datetime="2026-02-28T23:30:00Z" title="2026-02-28 23:30:00 UTC"' in figures.when(moment)
