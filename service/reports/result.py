"""The object types of a result, as HTTP answers them and the CLI prints them."""

from datetime import datetime

from pydantic import Field

from service.analysis.summary import TrialSummary
from service.reports.estimates import EstimateReport, StepTimeReport
from workers.contract.axes import Collective, GroupKind, Pass
from workers.contract.frozen import Frozen
from workers.contract.hardware import Environment, Hardware
from workers.contract.host_state import HostState
from workers.contract.point import PointSpec
from workers.contract.trial import Proof


class CollectiveReport(Frozen):
    """One collective of the step; bandwidths as nccl-tests defines them, GB = 1e9 bytes."""

    op: Collective
    where: str
    count_per_step: int
    message_bytes: int
    time_us: float = Field(description="Wire time of one: last exit minus last entry.")
    wait_us: float = Field(description="Mean over ranks of the wait for the last to enter.")
    algbw_gb_per_s: float | None
    busbw_gb_per_s: float | None = Field(description="Ring-equivalent.")


class EstimatesReport(Frozen):
    """Every figure with its interval; shares and exposed communication as measured, unclipped."""

    forward_time_us: EstimateReport
    backward_time_us: EstimateReport
    compute_time_us: EstimateReport
    communication_time_us: EstimateReport
    exposed_communication_us: EstimateReport
    communication_share: EstimateReport
    collective_share: EstimateReport


class RankSamples(Frozen):
    """Steps of one pass on one rank, in the order they ran."""

    pass_name: Pass
    rank: int
    step_us: tuple[float, ...]
    forward_us: tuple[float, ...]


class TrialReport(Frozen):
    """One execution of the point in one set of processes."""

    id: str
    replicate: int
    attempt: int
    group_id: str
    group_kind: GroupKind
    node: str
    link_class: str
    created_at: datetime
    environment: Environment
    summary: TrialSummary
    exposed_communication_us: float
    communication_share: float
    collective_share: float
    stop_rule: str
    num_warmup_steps: int
    perturbation: float
    peak_memory_bytes: int
    quality: tuple[str, ...]
    proof: Proof
    hosts: tuple[HostState, ...] = Field(
        description="What surrounded the timed steps, by rank; empty where not recorded."
    )
    wall_s: float
    """The whole trial on its slowest rank."""
    timed_s: float
    """Of that, inside timed steps: the rest is the harness's own cost."""
    samples: tuple[RankSamples, ...] | None = None


class ResultReport(Frozen):
    """A point over its trials. A figure is the median over trials of each trial's own."""

    id: str
    sweep_id: str
    spec: PointSpec
    spec_key: str
    hardware: Hardware
    hardware_key: str
    link_class: str
    environment: Environment = Field(description="Of the newest trial.")
    step_time_us: StepTimeReport
    forward_time_us: float
    backward_time_us: float
    compute_time_us: float
    communication_time_us: float
    exposed_communication_us: float = Field(description="Step minus compute; may be negative.")
    communication_share: float = Field(
        description="Exposed communication over step, at least 0: where noise puts it below, "
        "`quality` says exposed_not_resolved and `estimates` has it as measured."
    )
    collective_share: float
    estimates: EstimatesReport
    collectives: tuple[CollectiveReport, ...]
    tflop_per_s: float = Field(description="Of one device: matrix products only.")
    tokens_per_s: float = Field(description="Of the whole group.")
    peak_memory_bytes: int = Field(
        description="Of the rank that needed most: allocated on a GPU; on a CPU resident, with all "
        "of the process."
    )
    estimated_memory_bytes: int = Field(
        description="What the point alone was estimated to take on one device before it ran."
    )
    max_abs_error: float
    max_rel_error: float
    quality: tuple[str, ...]
    quality_notes: tuple[str, ...] = Field(description="The flags in words.")
    num_replicates: int
    stop_rules: tuple[str, ...]
    num_warmup_steps: int = Field(description="Of the trial that needed most.")
    perturbation: float = Field(description="Step with spans over step without, minus 1.")
    measured_at: datetime = Field(description="When the newest trial was done.")
    trials: tuple[TrialReport, ...] | None = Field(default=None, description="Where asked.")
    samples_us: tuple[float, ...] | None = Field(
        default=None,
        description="Every timed step of the clean pass, slowest rank, trial after trial.",
    )
