import pytest

from service.figures import duration, gigabytes, interval, microseconds, percent
from service.reports.estimates import EstimateReport


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0314, "0.031 us"),
        (0.5, "0.50 us"),
        (12.34, "12.3 us"),
        (-31.4, "-31.4 us"),
        (999, "999 us"),
        (1500, "1.50 ms"),
        (2e6, "2.00 s"),
        (1.2345e9, "1234 s"),
    ],
)
def test_times_have_three_digits_and_a_unit(value: float, shown: str) -> None:
    assert microseconds(value) == shown


def test_an_interval_is_in_the_unit_of_its_median() -> None:
    figure = EstimateReport(median=1200, ci_low=900, ci_high=1500, n=3)
    assert interval(figure) == "1.20 [0.90, 1.50] ms"


def test_one_replicate_has_no_interval() -> None:
    assert interval(EstimateReport(median=100, ci_low=None, ci_high=None, n=1)) == "100 us"


@pytest.mark.parametrize(
    ("share", "shown"), [(0.034, "3.4%"), (0.34, "34%"), (-0.02, "-2.0%"), (None, "")]
)
def test_shares_are_percentages(share: float | None, shown: str) -> None:
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(42.4, "42 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (1e5, "1 d 3 h")],
)
def test_durations_are_read_at_a_glance(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_no_bytes_are_not_a_figure() -> None:
    assert [gigabytes(0), gigabytes(76_200_000_000)] == ["", "76.2"]
