"""Figures as a page shows them: a dash where there is none, times in the zone of the reader."""

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from service import figures
from service.reports.estimates import EstimateReport

NONE: Final = "-"


def time_us(value: float | None) -> str:
    """In the unit that keeps it short."""
    return NONE if value is None else figures.microseconds(value, micro="µs")


def interval(figure: EstimateReport | None) -> str:
    """The median, and its 95 % interval where there is one."""
    return NONE if figure is None else figures.interval(figure, micro="µs")


def shares(figure: EstimateReport | None) -> str:
    """The same for shares of one."""
    if figure is None:
        return NONE
    if figure.ci_low is None or figure.ci_high is None:
        return percent(figure.median)
    return f"{percent(figure.median)} [{percent(figure.ci_low)}, {percent(figure.ci_high)}]"


def percent(share: float | None) -> str:
    """A share of one, without decimals from ten percent on."""
    return figures.percent(share) or NONE


def count(value: float | None) -> str:
    """A number of things, in groups of three digits."""
    return NONE if value is None else f"{value:,.0f}"


def number(value: float | None, unit: str = "") -> str:
    """Three digits and a unit."""
    return NONE if value is None else f"{figures.digits(value)} {unit}".strip()


def size(num_bytes: float | None) -> str:
    """Bytes in powers of 1024, as messages are."""
    if num_bytes is None:
        return NONE
    value = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:  # noqa: PLR2004 - the next unit
            return f"{value:.0f} B" if unit == "B" else f"{figures.digits(value)} {unit}"
        value /= 1024
    return f"{figures.digits(value)} TiB"


def duration(seconds: float | None) -> str:
    """42 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    return NONE if seconds is None else figures.duration(seconds)


def when(moment: datetime | None) -> Markup:
    """A time in UTC; the script shows it in the reader's zone, with UTC on hover."""
    if moment is None:
        return Markup("-")
    utc = moment.astimezone(UTC)
    day, time = utc.date().isoformat(), utc.time().isoformat("seconds")
    return Markup(  # noqa: S704 - digits alone; a page has hundreds, which escaping would hold up
        f'<time datetime="{day}T{time}Z" title="{day} {time} UTC">{day} {time[:5]} UTC</time>'
    )
