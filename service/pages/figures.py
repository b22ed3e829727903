"""Figures as a page shows them: three digits, with their unit."""

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from service.reports.estimates import EstimateReport

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86_400
THOUSAND: Final = 1000
NONE: Final = "-"


def time_us(value: float | None) -> str:
    """Three digits, in the unit that keeps them short."""
    if value is None:
        return NONE
    for unit in ("µs", "ms"):
        if abs(value) < THOUSAND:
            return f"{digits(value)} {unit}"
        value /= THOUSAND
    return f"{digits(value)} s"


def interval(figure: EstimateReport | None) -> str:
    """The median, and its 95 % interval where there is one."""
    if figure is None:
        return NONE
    middle = time_us(figure.median)
    if figure.ci_low is None or figure.ci_high is None:
        return middle
    number, unit = middle.split()
    scale = {"µs": 1.0, "ms": 1e3, "s": 1e6}[unit]
    low, high = digits(figure.ci_low / scale), digits(figure.ci_high / scale)
    return f"{number} [{low}, {high}] {unit}"


def shares(figure: EstimateReport | None) -> str:
    """The same for shares of one."""
    if figure is None:
        return NONE
    if figure.ci_low is None or figure.ci_high is None:
        return percent(figure.median)
    return f"{percent(figure.median)} [{percent(figure.ci_low)}, {percent(figure.ci_high)}]"


def percent(share: float | None) -> str:
    """A share of one, without decimals from ten percent on."""
    if share is None:
        return NONE
    return f"{share:.0%}" if abs(share) >= 0.1 else f"{share:.1%}"  # noqa: PLR2004 - one digit more


def count(value: float | None) -> str:
    """A number of things, in groups of three digits."""
    return NONE if value is None else f"{value:,.0f}"


def number(value: float | None, unit: str = "") -> str:
    """Three digits and a unit."""
    return NONE if value is None else f"{digits(value)} {unit}".strip()


def size(num_bytes: float | None) -> str:
    """Bytes in powers of 1024, as messages are."""
    if num_bytes is None:
        return NONE
    value = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:  # noqa: PLR2004 - the next unit
            return f"{value:.0f} B" if unit == "B" else f"{digits(value)} {unit}"
        value /= 1024
    return f"{digits(value)} TiB"


def duration(seconds: float | None) -> str:
    """42 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if seconds is None:
        return NONE
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min {whole % MINUTE_S} s"
    if whole < DAY_S:
        return f"{whole // HOUR_S} h {whole % HOUR_S // MINUTE_S} min"
    return f"{whole // DAY_S} d {whole % DAY_S // HOUR_S} h"


def digits(value: float) -> str:
    """Three significant ones, in full: 1234 and not 1.23e+03."""
    magnitude = abs(value)
    if magnitude >= 100 or value == 0:  # noqa: PLR2004 - powers of ten
        return f"{value:,.0f}"
    if magnitude >= 10:  # noqa: PLR2004
        return f"{value:.1f}"
    return f"{value:.2f}" if magnitude >= 1 else f"{value:.3g}"


def when(moment: datetime | None) -> Markup:
    """A time in UTC; the script shows it in the reader's zone, with UTC on hover."""
    if moment is None:
        return Markup("-")
    utc = moment.astimezone(UTC)
    return Markup('<time datetime="{}" title="{} UTC">{} UTC</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        utc.strftime("%Y-%m-%d %H:%M"),
    )
