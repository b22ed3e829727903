"""Figures as a person reads them, in a terminal or on a page: short, with their unit."""

from typing import Final, Protocol

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86_400
THOUSAND: Final = 1000


class Estimate(Protocol):
    """A median, and its 95 % interval where there is one."""

    @property
    def median(self) -> float:
        """Over replicates."""

    @property
    def ci_low(self) -> float | None:
        """None where there is no interval."""

    @property
    def ci_high(self) -> float | None:
        """The same."""


def digits(value: float) -> str:
    """Three of them, in full: 1234 and not 1.23e+03; two below one."""
    magnitude = abs(value)
    if magnitude >= 100 or value == 0:  # noqa: PLR2004 - powers of ten
        return f"{value:.0f}"
    if magnitude >= 10:  # noqa: PLR2004
        return f"{value:.1f}"
    return f"{value:.2f}" if magnitude >= 0.1 else f"{value:.2g}"  # noqa: PLR2004


def microseconds(value: float, *, micro: str = "us") -> str:
    """In the unit that keeps it short: us, ms or s."""
    for unit in (micro, "ms"):
        if abs(value) < THOUSAND:
            return f"{digits(value)} {unit}"
        value /= THOUSAND
    return f"{digits(value)} s"


def interval(figure: Estimate, *, micro: str = "us") -> str:
    """Microseconds in the unit of their median, with the interval in brackets."""
    middle = microseconds(figure.median, micro=micro)
    if figure.ci_low is None or figure.ci_high is None:
        return middle
    number, unit = middle.split()
    scale = {micro: 1.0, "ms": 1e3, "s": 1e6}[unit]
    return f"{number} [{digits(figure.ci_low / scale)}, {digits(figure.ci_high / scale)}] {unit}"


def percent(share: float | None) -> str:
    """A share of one, without decimals from ten percent on; nothing at all of None."""
    if share is None:
        return ""
    return f"{share:.0%}" if abs(share) >= 0.1 else f"{share:.1%}"  # noqa: PLR2004 - one digit more


def signed_percent(share: float | None) -> str:
    """A change, with one decimal and its sign; nothing at all of None."""
    return "" if share is None else f"{share:+.1%}"


def duration(seconds: float) -> str:
    """42 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min {whole % MINUTE_S} s"
    if whole < DAY_S:
        return f"{whole // HOUR_S} h {whole % HOUR_S // MINUTE_S} min"
    return f"{whole // DAY_S} d {whole % DAY_S // HOUR_S} h"


def gigabytes(num_bytes: int) -> str:
    """GB = 1e9 bytes, without the unit; nothing at all where there is none."""
    return digits(num_bytes / 1e9) if num_bytes else ""
