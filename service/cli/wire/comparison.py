from service.cli.wire.base import Wire
from service.cli.wire.spec import Spec


class Ratio(Wire):
    """Candidate over baseline; below 1 is faster."""

    ratio: float
    ci_low: float | None = None
    ci_high: float | None = None
    verdict: str


class Side(Wire):
    """One side of a compared point."""

    step_time_us: float


class ComparedPoint(Ratio):
    """A point that both sides measured."""

    spec: Spec
    baseline: Side
    candidate: Side
    quality: tuple[str, ...] = ()


class Unmatched(Wire):
    """A point that one side measured alone."""

    spec: Spec


class Difference(Wire):
    """A version or setting in which the sides differ."""

    field: str
    baseline: tuple[str, ...] = ()
    candidate: tuple[str, ...] = ()


class Comparison(Wire):
    """Two sides."""

    overall: Ratio | None = None
    points: tuple[ComparedPoint, ...] = ()
    unmatched_baseline: tuple[Unmatched, ...] = ()
    unmatched_candidate: tuple[Unmatched, ...] = ()
    failed_baseline: tuple[Unmatched, ...] = ()
    failed_candidate: tuple[Unmatched, ...] = ()
    differences: tuple[Difference, ...] = ()
    sentence: str = ""
