"""The object types of a result, as HTTP answers them and the CLI prints them."""

from datetime import datetime

from pydantic import Field

from service.analysis.control import NoiseGrade
from service.analysis.summary import TrialSummary
from service.reports.estimates import EstimateReport, StepTimeReport
from service.reports.forecasts import ForecastReport
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
    timed_in: Pass = Field(
        description="`split`: within the step. `standalone`: it runs under compute, where it has "
        "no time of its own; the times are of it alone, bare, and no part of the step."
    )
    time_us: float = Field(description="Wire time of one: last exit minus last entry.")
    wait_us: float = Field(description="Mean over ranks of the wait for the last to enter.")
    algbw_gb_per_s: float | None
    busbw_gb_per_s: float | None = Field(description="Ring-equivalent.")


class EstimatesReport(Frozen):
    """Every figure with its interval; shares and exposed communication as measured, unclipped."""

    forward_time_us: EstimateReport
    backward_time_us: EstimateReport
    compute_time_us: EstimateReport
    communication_time_us: EstimateReport | None
    exposed_communication_us: EstimateReport
    communication_share: EstimateReport
    collective_share: EstimateReport | None
    standalone_communication_us: EstimateReport | None = None


class ControlReport(Frozen):
    """Fixed work that took turns with the point's steps: what the host was like meanwhile."""

    version: int = Field(description="Of the control's definition; others do not compare.")
    gemm_time_us: float = Field(description="One product of fixed size; median over trials.")
    collective_time_us: float | None = Field(
        description="One all-reduce of 64 KiB by the point's own implementation; null for "
        "one rank, and for a pair's second point where the first has another implementation."
    )
    noise_within: float = Field(
        description="Middle half of the control's steps over their median; median over trials."
    )
    noise_between: float | None = Field(
        description="The same between trials: 1.349 standard deviations of the logarithms of "
        "their medians; null with one."
    )
    noise_grade: NoiseGrade = Field(
        description="By the larger of the two: A up to 10 %, B 25 %, C 50 %, D beyond."
    )
    normalised_step_time_us: EstimateReport | None = Field(
        description="Step time over (gemm/quietest gemm)^(1-c) * (collective/quietest "
        "collective)^c with c the communication share: what the step would take were the host "
        "always as in the control's quietest step."
    )


class IdleReport(Frozen):
    """Ranks that wait for one another's layers: what of the step each did not work in."""

    share_by_rank: tuple[float, ...] = Field(
        description="1 - own work / step, of the steps with spans; median over trials."
    )
    ideal_share: float = Field(
        description="(P-1)/P: layers that take equally long, and sending that takes nothing."
    )


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
    collective_share: float | None
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
    profiled_collective_share: float | None = Field(
        default=None,
        description="Collective kernels over active time in the profiled steps of this trial, "
        "beside `collective_share`, which spans took; null where it was not profiled, and where "
        "ranks sent past the backend, whose collectives alone the profiler knows.",
    )
    samples: tuple[RankSamples, ...] | None = None


class ResultReport(Frozen):
    """A point over its trials. A figure is the median over trials of each trial's own."""

    id: str
    sweep_id: str
    paired_with: str | None = Field(
        description="Of the second point of a pair: the first, measured by turns with it."
    )
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
    communication_time_us: float | None = Field(
        description="Wire time of a step's collectives; null where some of them are overlapped and "
        "have no time of their own in the step."
    )
    standalone_communication_us: float | None = Field(
        description="Wire time of the overlapped collectives, run bare: what there was to hide. It "
        "is no part of the step and must not be added to compute. Null where nothing overlaps."
    )
    exposed_communication_us: float = Field(description="Step minus compute; may be negative.")
    communication_share: float = Field(
        description="Exposed communication over step, at least 0: where noise puts it below, "
        "`quality` says exposed_not_resolved and `estimates` has it as measured."
    )
    collective_share: float | None = Field(
        description="Wire and wait over the step with spans; null where some are overlapped."
    )
    estimates: EstimatesReport
    idle: IdleReport | None = Field(
        default=None, description="Of arrangement layer_split; null for others."
    )
    collectives: tuple[CollectiveReport, ...]
    control: ControlReport | None = Field(description="Null where a trial had none.")
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
    prediction: ForecastReport | None = Field(
        default=None, description="Made before it ran; null where there was nothing to go by."
    )
    samples_us: tuple[float, ...] | None = Field(
        default=None,
        description="Every timed step of the clean pass, slowest rank, trial after trial.",
    )
