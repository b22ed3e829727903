from service.cli.wire.base import Wire
from service.cli.wire.interval import Interval
from service.cli.wire.spec import Spec


class Collective(Wire):
    """One collective of a step."""

    count_per_step: int = 1


class Control(Wire):
    """What the fixed work beside a point's steps says of the host."""

    noise_grade: str = ""


class Idle(Wire):
    """What of a step ranks did not work in, where they wait for one another's layers."""

    share_by_rank: tuple[float, ...]
    ideal_share: float


OUTSIDE = " *"


class Forecast(Wire):
    """What was predicted of a point's step before it ran."""

    time_us: float
    low_us: float | None = None
    high_us: float | None = None
    basis: str = ""
    error: float
    is_within: bool | None = None

    @property
    def interval(self) -> Interval:
        """With its band."""
        return Interval(median=self.time_us, ci_low=self.low_us, ci_high=self.high_us)

    @property
    def verdict(self) -> str:
        """How far it was off, with a mark where its band did not hold the step time."""
        return f"{self.error:+.0%}{OUTSIDE if self.is_within is False else ''}"


class Result(Wire):
    """A measured point."""

    id: str = ""
    sweep_id: str
    spec: Spec
    step_time_us: Interval
    communication_share: float | None = None
    collectives: tuple[Collective, ...] = ()
    idle: Idle | None = None
    control: Control | None = None
    prediction: Forecast | None = None
    quality: tuple[str, ...] = ()
    quality_notes: tuple[str, ...] = ()

    @property
    def notes(self) -> dict[str, str]:
        """Each flag in words; a flag that came without any is its own."""
        words = iter(self.quality_notes)
        return {flag: next(words, flag) for flag in self.quality}

    @property
    def num_collectives(self) -> int:
        """Collectives of one step, as they were counted."""
        return sum(collective.count_per_step for collective in self.collectives)


class RefusedLine(Wire):
    """A line of an import that was left out."""

    line: int
    reason: str = ""


class Merge(Wire):
    """What became of imported results."""

    num_refused: int = 0
    refused: tuple[RefusedLine, ...] = ()
    sentence: str = ""
