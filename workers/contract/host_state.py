"""What surrounded the timed steps of one rank: looked at before and after them, never inside."""

from workers.contract.frozen import Frozen


class DeviceReading(Frozen):
    """One look at a GPU by NVML; None where the driver or the device does not say."""

    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    throttle_reasons: tuple[str, ...] | None = None
    """Reasons for a lower clock at this moment, heat and power only; empty where there is none."""
    throttled_ns: int | None = None
    """Since the driver was loaded, below the clock for heat or power: a counter."""
    num_other_processes: int | None = None
    """Processes with a context on the device, this rank's own aside."""


class HostState(Frozen):
    """Two looks, and what passed between them. None where the kernel does not say."""

    window_ns: int
    """Between the looks: the timed steps and what lies between them."""
    load_average: tuple[float, float]
    """Of one minute, before and after."""
    num_runnable: tuple[int, int] | None
    """Threads of the whole host that ran or wanted to, this one aside; the other ranks are some."""
    waited_for_core_ns: int | None
    """How long the measuring thread could run and was not let, by threads of other processes."""
    others_share: float | None
    """Of the one core that the rank is pinned to: used by anything else. In clock ticks."""
    steal_share: float | None
    """Of the same core, or of all where there is none: taken by other virtual machines."""
    is_flushing_denormals: bool
    """Tried out on the measuring thread, on the CPU."""
    grown_bytes: int
    """Device memory that the allocator took from the driver; resident memory on a CPU."""
    device: tuple[DeviceReading, DeviceReading] | None = None
    """Before and after; None on a CPU, or where NVML cannot be asked."""
