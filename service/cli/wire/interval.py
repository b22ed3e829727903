from service.cli.wire.base import Wire


class Interval(Wire):
    """A figure over replicates; no interval with one replicate."""

    median: float
    ci_low: float | None = None
    ci_high: float | None = None
