from service.cli.wire.base import Wire


class Candidate(Wire):
    """One TP degree of a recommendation."""

    tp_degree: int
    needed_bytes: int | None = None
    basis: str | None = None
    step_time_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    communication_share: float | None = None
    is_undecided: bool = False
    over: int | None = None
    reason: str


class Recommendation(Wire):
    """The TP degree for one hardware and batch."""

    hardware: str
    batch: int
    tp_degree: int | None = None
    basis: str | None = None
    candidates: tuple[Candidate, ...]
    sentence: str


class DegreeRange(Wire):
    """TP degrees that make sense for a model on an accelerator."""

    model: str
    num_parameters: int
    hardware: str
    link: str
    smallest: int | None = None
    largest: int | None = None
    throughput: int | None = None
