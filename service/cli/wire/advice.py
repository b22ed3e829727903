from service.cli.wire.base import Wire
from service.cli.wire.interval import Interval
from service.cli.wire.recommendation import Recommendation
from service.cli.wire.spec import Model


class AdvicePlan(Wire):
    """What to measure next."""

    stage: str
    hardware: str
    layer: Model
    scale: float
    estimated_s: float | None = None
    reason: str


class AdvisedStep(Wire):
    """One batch of a curve."""

    batch: int
    step_time_us: Interval


class AdvisedCurve(Wire):
    """Measured steps at one TP degree."""

    tp_degree: int
    steps: tuple[AdvisedStep, ...]


class CrossingAt(Wire):
    """Where two curves cross."""

    state: str
    batch: float | None = None


class AdvisedCrossing(Wire):
    """From which batch on a degree is faster than a smaller one."""

    tp_degree: int
    pays_against: int
    pays_from: CrossingAt


class Advice(Wire):
    """The answer."""

    model: str
    hardware: str
    measured: Model
    is_asked: bool
    curves: tuple[AdvisedCurve, ...]
    crossings: tuple[AdvisedCrossing, ...]
    recommendations: tuple[Recommendation, ...]
    quality: tuple[str, ...] = ()
    sentences: tuple[str, ...]
