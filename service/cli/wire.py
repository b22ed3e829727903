"""What this client reads of the server's answers: fields it shows, and nothing it does not know.

Readers are tolerant where writers are strict: a newer server may send more, and `--json` passes on
all of it. So these are the client's own, not the server's models.
"""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """Part of an answer; other fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ProblemField(Wire):
    """One thing wrong with a request."""

    pointer: str = ""
    detail: str = ""


class Problem(Wire):
    """An error as RFC 9457 has it."""

    title: str = ""
    detail: str = ""
    code: str = ""
    request_id: str = ""
    errors: tuple[ProblemField, ...] = ()


class Model(Wire):
    """The shape that a point measured."""

    name: str = ""
    hidden_size: int

    @property
    def label(self) -> str:
        """Name, or the width where it has none."""
        return self.name or f"hidden {self.hidden_size}"


class Spec(Wire):
    """A point's combination of axis values."""

    model: Model
    block: str
    phase: str
    tp_degree: int
    batch: int
    seq: int
    dtype: str = ""
    arrangement: str = "column_row"
    overlap: str = "none"

    @property
    def label(self) -> str:
        """The point in a few words."""
        extent = f"batch {self.batch}" + (f" seq {self.seq}" if self.seq != 1 else "")
        return f"{self.model.label} {self.block} {self.phase} tp {self.tp_degree} {extent}"


class Progress(Wire):
    """Trials that are over, of all."""

    num_trials: int
    num_done: int
    eta_s: float | None = None


class Sweep(Wire):
    """A sweep and how far it is."""

    id: str
    name: str = ""
    state: str
    created_at: datetime
    created_by: str = ""
    num_points: int
    num_rejected: int = 0
    trial_counts: dict[str, int]
    progress: Progress

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is queued or running."""
        return self.state not in ("queued", "running")


class Rejection(Wire):
    """A combination that cannot be measured."""

    spec: Spec
    field: str
    value: int | str
    reason: str
    valid_tp_degrees: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """Why, and what would work."""
        works = ", ".join(map(str, self.valid_tp_degrees))
        return f"{self.spec.label}: {self.reason}" + (f" (works: {works})" if works else "")


class Preview(Wire):
    """What a sweep would measure."""

    num_points: int
    points: tuple[Spec, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    estimated_s: float | None = None


class Interval(Wire):
    """A figure over replicates; no interval with one replicate."""

    median: float
    ci_low: float | None = None
    ci_high: float | None = None


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


class Result(Wire):
    """A measured point."""

    sweep_id: str
    spec: Spec
    step_time_us: Interval
    communication_share: float | None = None
    collectives: tuple[Collective, ...] = ()
    idle: Idle | None = None
    control: Control | None = None
    quality: tuple[str, ...] = ()

    @property
    def num_collectives(self) -> int:
        """Collectives of one step, as they were counted."""
        return sum(collective.count_per_step for collective in self.collectives)


class PointError(Wire):
    """Why a point failed."""

    code: str
    message: str
    rank: int | None = None
    node: str = ""
    log_tail: str = ""

    @property
    def label(self) -> str:
        """What happened, and on which rank and node."""
        where = f" on rank {self.rank}" if self.rank is not None else ""
        return f"{self.code}{where}" + (f" of {self.node}" if self.node else "")


class Point(Wire):
    """A point of a sweep and its state."""

    spec: Spec
    state: str
    error: PointError | None = None
    rejection: Rejection | None = None


class NodeHardware(Wire):
    """What a machine has to measure on."""

    accelerator: str
    num_devices: int


class Node(Wire):
    """A machine as its dispatcher last saw it."""

    name: str
    hardware: NodeHardware
    num_slots: int
    pool: str
    last_seen_at: datetime


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
    """A point that both sweeps measured."""

    spec: Spec
    baseline: Side
    candidate: Side
    quality: tuple[str, ...] = ()


class Unmatched(Wire):
    """A point that one sweep measured alone."""

    spec: Spec


class Difference(Wire):
    """A version or setting in which the sides differ."""

    field: str
    baseline: tuple[str, ...] = ()
    candidate: tuple[str, ...] = ()


class Comparison(Wire):
    """Two sweeps side by side."""

    overall: Ratio | None = None
    points: tuple[ComparedPoint, ...] = ()
    unmatched_baseline: tuple[Unmatched, ...] = ()
    unmatched_candidate: tuple[Unmatched, ...] = ()
    differences: tuple[Difference, ...] = ()
    sentence: str = ""


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


class GroupsPoint(Wire):
    """A point in fresh processes and in re-formed groups."""

    spec: Spec
    fresh: Interval
    regrouped: Interval
    width_ratio: float
    holds_fresh_median: bool


class Groups(Wire):
    """Fresh processes beside re-formed groups."""

    points: tuple[GroupsPoint, ...] = ()
    sentence: str = ""


class Pairs(Wire):
    """All pairs of a sweep."""

    pairs: tuple[PairOfPoints, ...] = ()


class Placement(Wire):
    """Time of one message."""

    time_us: float
    busbw_gb_per_s: float


class CurvePoint(Wire):
    """One message size."""

    message_bytes: int
    out_of_place: Placement | None = None
    in_place: Placement | None = None


class Doubt(Wire):
    """Message sizes that are slower than they should be."""

    low_bytes: int
    high_bytes: int
    reason: str

    @property
    def label(self) -> str:
        """Where, and what is wrong."""
        return f"messages of {self.low_bytes} to {self.high_bytes} bytes: {self.reason}"


class Curve(Wire):
    """Times of one collective over message sizes."""

    hardware: str
    op: str
    dtype: str
    num_ranks: int
    num_nodes: int | None = None
    rows: tuple[CurvePoint, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def label(self) -> str:
        """Of what, among how many."""
        nodes = f" on {self.num_nodes} nodes" if self.num_nodes is not None else ""
        return f"{self.hardware}: {self.op} of {self.dtype} among {self.num_ranks} ranks{nodes}"


class DegreeSets(Wire):
    """Which GPUs a tp_degree should take."""

    tp_degree: int
    worst_link: str
    passes: str
    sets: tuple[tuple[int, ...], ...]


class TopologyReport(Wire):
    """How the GPUs of a machine are connected."""

    num_gpus: int
    fabric: str
    tp_degrees: tuple[DegreeSets, ...]
    warnings: tuple[str, ...] = ()


class SkippedRow(Wire):
    """A row of a file that was not taken."""

    line: int
    reason: str


class Import(Wire):
    """What a file gave."""

    num_taken: int
    num_new_curves: int
    curves: tuple[Curve, ...] = ()
    skipped: tuple[SkippedRow, ...] = ()
    warnings: tuple[str, ...] = ()


class BreakEven(Wire):
    """Where one series crosses, in words, its doubts included."""

    sentence: str


class MemoryPlan(Wire):
    """What one GPU of one combination holds."""

    tp_degree: int
    zero_stage: int
    data_parallel: int
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    kv_cache_bytes: int
    passing_bytes: int
    total_bytes: int
    fits: bool | None = None


class MemoryLayer(Wire):
    """Whose layer it is."""

    layer: Model


class Memory(Wire):
    """Plans of one model."""

    model: MemoryLayer
    num_parameters: int
    phase: str
    precision: str
    plans: tuple[MemoryPlan, ...]


class Candidate(Wire):
    """One TP degree of a recommendation."""

    tp_degree: int
    needed_bytes: int | None = None
    basis: str | None = None
    step_time_us: float | None = None
    communication_share: float | None = None
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


class Claim(Wire):
    """One claim of the articles."""

    number: int
    source: str
    claim: str
    article: str
    ours: str
    verdict: str
    measured: str | None = None
    command: str


class ArrangementCost(Wire):
    """What an arrangement costs by arithmetic."""

    arrangement: str
    num_collectives: dict[str, int]
    bus_bytes: int


class Arranged(Wire):
    """One measured arrangement."""

    cost: ArrangementCost
    kept_bytes: int
    why: str
    step_time_us: Interval
    exposed_communication_us: Interval
    peak_memory_bytes: int | None = None


class ArrangedBlock(Wire):
    """The arrangements of one block, the cheapest first."""

    spec: Spec
    arrangements: tuple[Arranged, ...]
    sentences: tuple[str, ...]
