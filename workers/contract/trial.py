"""What a worker group is told to do and what it answers. Times are nanoseconds of one rank."""

from workers.contract.axes import Collective, GroupKind, Pass
from workers.contract.frozen import Frozen
from workers.contract.hardware import DeviceFacts, Environment
from workers.contract.host_state import HostState
from workers.contract.probe import Measurable
from workers.contract.profile import Profile
from workers.contract.sweep import Sampling


class TrialOrder(Frozen):
    """One execution of a point, handed to each of its tp_degree ranks."""

    trial_id: str
    attempt: int
    replicate: int
    point: Measurable
    sampling: Sampling
    seed: int
    """Of weights and inputs; the same on every rank."""
    deadline_s: float
    """The rank ends itself when the trial is not done by then."""
    profile: bool = False
    """Whether some extra steps are run under a profiler, after the timed ones."""
    pair_point: Measurable | None = None
    """The other point of a pair, of equal tp_degree; None where one point is measured alone."""

    @property
    def points(self) -> tuple[Measurable, ...]:
        """One, or the two of a pair."""
        return (self.point,) if self.pair_point is None else (self.point, self.pair_point)


class PassSamples(Frozen):
    """Steps of one pass on one rank, in the order they ran."""

    step_ns: tuple[int, ...]
    forward_ns: tuple[int, ...]
    """The forward part of each step; all of it where the phase has no backward."""
    enqueue_ns: tuple[int, ...] | None = None
    """What the host took to start each step on a GPU; None on a CPU, which does the work itself."""


class Span(Frozen):
    """One collective of the step on one rank, over the steps of the pass it was timed in."""

    op: Collective
    where: str
    message_bytes: int
    enter_ns: tuple[int, ...]
    exit_ns: tuple[int, ...]
    """Both on the host's monotonic clock where `shared_clock`, else on the rank's own."""
    timed_in: Pass = Pass.SPLIT
    """Within the step, or standalone where it is overlapped and has no time of its own there."""


class Proof(Frozen):
    """What was shown before timing began."""

    max_abs_error: float
    max_rel_error: float
    """Largest over output, input gradient and weight gradients, against the unsharded twin,
    relative to the largest element of each."""
    tolerance: float
    dtype: str
    num_tokens: int = 0
    """Of the steps compared and counted: few, whatever the point's. 0 where not recorded."""
    num_collectives: int
    collective_bytes: int
    """Of one step on those tokens, in the point's dtype."""
    is_reduced: bool = False
    """True where the twin of the full shape would not fit and one of the same ratios stood in."""


class RankResult(Frozen):
    """Everything one rank saw of one trial."""

    rank: int
    device: DeviceFacts
    environment: Environment
    passes: dict[Pass, PassSamples]
    spans: tuple[Span, ...]
    shared_clock: bool
    """Whether the spans of all ranks are on one clock."""
    proof: Proof
    num_warmup_steps: int
    stop_rule: str
    peak_memory_bytes: int
    quality: tuple[str, ...]
    host: HostState | None = None
    """Around its timed steps."""
    profile: Profile | None = None
    """Where asked, of rank 0."""
    wall_ns: int
    """The whole trial on this rank."""
    timed_ns: int
    """Of that, inside timed steps."""
    control_version: int = 0
    """What the control passes were; 0 where there were none."""
    pair: "RankResult | None" = None
    """Of the other point of the pair."""


class CollectiveTiming(Frozen):
    """One collective of the step over all ranks, a value for each step of its pass."""

    op: Collective
    where: str
    message_bytes: int
    wire_ns: tuple[int, ...]
    """Last exit minus last entry: what remains when nobody waits for a late rank."""
    wait_ns: tuple[int, ...]
    """Mean over ranks of what each waited for the last to enter."""
    timed_in: Pass = Pass.SPLIT


class TrialResult(Frozen):
    """One trial over all ranks: what the store keeps."""

    point: Measurable
    group_kind: GroupKind
    group_id: str
    hardware_key: str
    link_class: str
    node: str
    environment: Environment
    devices: tuple[DeviceFacts, ...]
    samples: dict[Pass, tuple[PassSamples, ...]]
    """Indexed by rank."""
    collectives: tuple[CollectiveTiming, ...]
    busy_ns: tuple[tuple[int, ...], ...] = ()
    """Of ranks that wait for one another's layers: what each worked itself in every step of the
    split pass, by rank. Empty for other arrangements."""
    proof: Proof
    num_warmup_steps: int
    stop_rule: str
    peak_memory_bytes: int
    """Of the rank that needed most."""
    quality: tuple[str, ...]
    hosts: tuple[HostState, ...] = ()
    """By rank; empty where not recorded."""
    profile: Profile | None = None
    """Of rank 0, where asked."""
    wall_ns: int
    timed_ns: int
    control_version: int = 0
    pair: "TrialResult | None" = None
    """Of the other point of the pair."""
