"""One result with its trials, as `GET /v1/results/{id}` answers it."""

from service.cli.wire.base import Wire
from service.cli.wire.interval import Interval
from service.cli.wire.results import Collective, Control, Result


class TimedCollective(Collective):
    """One collective of a step, and its times."""

    op: str
    where: str
    message_bytes: int
    timed_in: str = "split"
    time_us: float
    wait_us: float
    busbw_gb_per_s: float | None = None


class DetailedControl(Control):
    """What the fixed work beside a point's steps took."""

    noise_within: float
    noise_between: float | None = None
    normalised_step_time_us: Interval | None = None


class Estimates(Wire):
    """Figures with their intervals."""

    compute_time_us: Interval
    exposed_communication_us: Interval
    communication_time_us: Interval | None = None
    standalone_communication_us: Interval | None = None


class DeviceLook(Wire):
    """One look at a GPU; None where it does not say."""

    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    temperature_c: int | None = None
    throttle_reasons: tuple[str, ...] | None = None
    num_other_processes: int | None = None


class Host(Wire):
    """What surrounded one rank's timed steps; None where the kernel does not say."""

    window_ns: int
    load_average: tuple[float, float]
    waited_for_core_ns: int | None = None
    others_share: float | None = None
    steal_share: float | None = None
    grown_bytes: int
    device: tuple[DeviceLook, DeviceLook] | None = None


class TrialSummary(Wire):
    """Medians of one trial."""

    step_time_us: float
    enqueue_time_us: float | None = None


class Trial(Wire):
    """One execution of a point in one set of processes."""

    id: str
    replicate: int
    group_kind: str = ""
    node: str = ""
    summary: TrialSummary
    stop_rule: str = ""
    num_warmup_steps: int = 0
    collective_share: float | None = None
    profiled_collective_share: float | None = None
    hosts: tuple[Host, ...] = ()


class Hardware(Wire):
    """What it ran on."""

    accelerator: str


class Details(Result):
    """A measured point with its trials."""

    hardware: Hardware
    link_class: str = ""
    collectives: tuple[TimedCollective, ...] = ()
    control: DetailedControl | None = None
    estimates: Estimates
    max_rel_error: float
    trials: tuple[Trial, ...] = ()
