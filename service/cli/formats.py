"""Figures as a person reads them."""

from service.cli.wire.interval import Interval

MINUTE_S, HOUR_S = 60, 3600
THOUSAND = 1000


def microseconds(value: float) -> str:
    """Three significant digits, in the unit that keeps them short."""
    for unit in ("us", "ms"):
        if abs(value) < THOUSAND:
            return f"{_three_digits(value)} {unit}"
        value /= THOUSAND
    return f"{_three_digits(value)} s"


def interval(figure: Interval) -> str:
    """The median, and its 95 % interval where there is one."""
    if figure.ci_low is None or figure.ci_high is None:
        return microseconds(figure.median)
    unit = microseconds(figure.median).split()[1]
    scale = {"us": 1.0, "ms": 1e3, "s": 1e6}[unit]
    low, middle, high = (
        _three_digits(value / scale) for value in (figure.ci_low, figure.median, figure.ci_high)
    )
    return f"{middle} [{low}, {high}] {unit}"


def percent(share: float | None) -> str:
    """A share of one, without decimals from ten percent on."""
    if share is None:
        return ""
    return f"{share:.0%}" if abs(share) >= 0.1 else f"{share:.1%}"  # noqa: PLR2004 - one digit more


def gigabytes(num_bytes: int) -> str:
    """GB = 1e9 bytes, three significant digits; nothing at all where there is none."""
    return _three_digits(num_bytes / 1e9) if num_bytes else ""


def duration(seconds: float) -> str:
    """42 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min {whole % MINUTE_S} s"
    return f"{whole // HOUR_S} h {whole % HOUR_S // MINUTE_S} min"


def _three_digits(value: float) -> str:
    size = abs(value)
    digits = 2 if size < 10 else 1 if size < 100 else 0  # noqa: PLR2004 - powers of ten
    return f"{value:.{digits}f}"
