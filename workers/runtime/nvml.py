"""What NVML says of a rank's GPU, without a CUDA context and outside every timed window."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeVar

import pynvml

from workers.contract.host_state import DeviceReading

Answer = TypeVar("Answer")


class Nvml(Protocol):
    """The functions of pynvml that are used, under its names; a test brings its own."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None:  # noqa: N802 - pynvml's names, here and below
        """Find the driver."""

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> object:  # noqa: N802
        """Find a device."""

    def nvmlDeviceGetIndex(self, handle: object) -> int:  # noqa: N802
        """Count as nvidia-smi does."""

    def nvmlDeviceGetClockInfo(self, handle: object, type: int) -> int:  # noqa: A002, N802
        """MHz."""

    def nvmlDeviceGetMaxClockInfo(self, handle: object, type: int) -> int:  # noqa: A002, N802
        """MHz."""

    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int:  # noqa: N802
        """Degrees Celsius."""

    def nvmlDeviceGetPowerUsage(self, handle: object) -> int:  # noqa: N802
        """Milliwatts."""

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> int:  # noqa: N802
        """Mask of reasons for the present clock."""

    def nvmlDeviceGetViolationStatus(  # noqa: N802
        self, device: object, perfPolicyType: int
    ) -> "Violation":
        """How long a limit has slowed the device down."""

    def nvmlDeviceGetComputeRunningProcesses(self, handle: object) -> Sequence[object]:  # noqa: N802
        """Processes with a context."""


class Violation(Protocol):
    """Of one limit."""

    @property
    def violationTime(self) -> int:  # noqa: N802 - NVML's name
        """Nanoseconds since the driver was loaded."""


THROTTLE_REASONS: Mapping[str, int] = MappingProxyType(
    {
        "power_cap": pynvml.nvmlClocksEventReasonSwPowerCap,
        "hardware_slowdown": pynvml.nvmlClocksThrottleReasonHwSlowdown,
        "heat": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
        "hardware_heat": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
        "power_brake": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
    }
)
"""Bits of NVML's mask that slow a device down against its owner's will. Idleness, and clocks that
were set, are reasons of NVML too, and none of ours."""

LIMITS = (pynvml.NVML_PERF_POLICY_POWER, pynvml.NVML_PERF_POLICY_THERMAL)


class GpuMonitor:
    """One GPU, found by its UUID. Whatever the driver does not say is None, never a guess."""

    def __init__(self, nvml: Nvml, uuid: str) -> None:
        self._nvml = nvml
        self._handle: object | None = None
        try:
            nvml.nvmlInit()
            self._handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        except nvml.NVMLError:
            return

    def read(self) -> DeviceReading | None:
        """Look once; None where the device cannot be found."""
        if self._handle is None:
            return None
        nvml, handle = self._nvml, self._handle
        sm = pynvml.NVML_CLOCK_SM
        power_mw = self._ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        return DeviceReading(
            sm_clock_mhz=self._ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, sm)),
            max_sm_clock_mhz=self._ask(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, sm)),
            temperature_c=self._ask(
                lambda: nvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
            ),
            power_w=None if power_mw is None else power_mw / 1e3,
            throttle_reasons=self._ask(
                lambda: reasons_in(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
            ),
            throttled_ns=self._ask(
                lambda: sum(
                    nvml.nvmlDeviceGetViolationStatus(handle, limit).violationTime
                    for limit in LIMITS
                )
            ),
            num_other_processes=self._num_others(handle),
        )

    def _num_others(self, handle: object) -> int | None:
        """All but one: ours has a context, under an id of another namespace perhaps.

        A list without even ours is one that the driver keeps from us, and says nothing.
        """
        found = self._ask(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        return len(found) - 1 if found else None

    def _ask(self, question: Callable[[], Answer]) -> Answer | None:
        try:
            return question()
        except self._nvml.NVMLError:
            return None


def physical_index(nvml: Nvml, uuid: str) -> int | None:
    """Number of a GPU on its host, as `nvidia-smi topo -m` counts; None where NVML does not say.

    CUDA_VISIBLE_DEVICES, by which torch counts, hides nothing from either and reorders nothing.
    """
    try:
        nvml.nvmlInit()
        return nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(uuid))
    except nvml.NVMLError:
        return None


def reasons_in(mask: int) -> tuple[str, ...]:
    """Name the bits that are reasons of heat or power."""
    return tuple(name for name, bit in THROTTLE_REASONS.items() if mask & bit)
