from service.cli.wire.base import Wire


class BreakEven(Wire):
    """Where one series crosses, in words, its doubts included."""

    sentence: str
