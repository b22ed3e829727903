from service.cli.wire.base import Wire
from service.cli.wire.comparison import Ratio
from service.cli.wire.spec import Spec


class PairSide(Wire):
    """One of two points that took turns."""

    spec: Spec
    value: str = ""


class Part(Ratio):
    """The step of a pair, or a part of it."""

    name: str
    detectable: float | None = None


class PairOfPoints(Wire):
    """Two points that took turns."""

    first: PairSide
    second: PairSide
    parts: tuple[Part, ...] = ()
    sentence: str = ""


class Pairs(Wire):
    """All pairs of a sweep."""

    pairs: tuple[PairOfPoints, ...] = ()
