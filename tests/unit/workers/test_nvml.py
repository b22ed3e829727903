"""What is made of NVML's answers, and of answers it refuses to give."""

from dataclasses import dataclass

import pytest

from workers.contract.host_state import DeviceReading
from workers.runtime.nvml import GpuMonitor, physical_index, reasons_in

UUID = "GPU-1"


class RefusedError(Exception):
    """As a driver answers what it does not support."""


@dataclass(frozen=True)
class Violation:
    violationTime: int  # noqa: N815 - NVML's name


class FakeNvml:
    """A driver with one device; what is named in `refused` it does not support."""

    NVMLError: type[Exception] = RefusedError

    def __init__(self, *, refused: frozenset[str] = frozenset(), num_processes: int = 1) -> None:
        self._refused = refused
        self._num_processes = num_processes

    def _check(self, name: str) -> None:
        if name in self._refused:
            raise RefusedError(name)

    def nvmlInit(self) -> None:  # noqa: N802
        self._check("init")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> object:  # noqa: N802
        if uuid != UUID:
            raise RefusedError(uuid)
        return "handle"

    def nvmlDeviceGetIndex(self, handle: object) -> int:  # noqa: N802
        assert handle == "handle"
        return 5

    def nvmlDeviceGetClockInfo(self, handle: object, type: int) -> int:  # noqa: A002, N802
        assert (handle, type) == ("handle", 1)
        self._check("clock")
        return 1410

    def nvmlDeviceGetMaxClockInfo(self, handle: object, type: int) -> int:  # noqa: A002, N802
        assert (handle, type) == ("handle", 1)
        return 1980

    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int:  # noqa: N802
        assert (handle, sensor) == ("handle", 0)
        return 61

    def nvmlDeviceGetPowerUsage(self, handle: object) -> int:  # noqa: N802
        assert handle == "handle"
        self._check("power")
        return 412_500

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> int:  # noqa: N802
        assert handle == "handle"
        return 0x4 | 0x1

    def nvmlDeviceGetViolationStatus(  # noqa: N802
        self,
        device: object,
        perfPolicyType: int,
    ) -> Violation:
        assert device == "handle"
        self._check("violation")
        return Violation(7 if perfPolicyType == 0 else 5)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: object) -> list[object]:  # noqa: N802
        assert handle == "handle"
        self._check("processes")
        return [object()] * self._num_processes


def test_everything_a_driver_says_is_read() -> None:
    assert GpuMonitor(FakeNvml(num_processes=3), UUID).read() == DeviceReading(
        sm_clock_mhz=1410,
        max_sm_clock_mhz=1980,
        temperature_c=61,
        power_w=412.5,
        throttle_reasons=("power_cap",),
        throttled_ns=12,
        num_other_processes=2,
    )


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        ("clock", "sm_clock_mhz"),
        ("power", "power_w"),
        ("violation", "throttled_ns"),
        ("processes", "num_other_processes"),
    ],
)
def test_what_a_driver_does_not_say_is_missing_and_the_rest_is_there(
    refused: str, field: str
) -> None:
    reading = GpuMonitor(FakeNvml(refused=frozenset({refused})), UUID).read()
    assert reading is not None
    assert [name for name, value in reading if value is None] == [field]


def test_a_list_of_processes_without_ones_own_says_nothing_of_others() -> None:
    reading = GpuMonitor(FakeNvml(num_processes=0), UUID).read()
    assert reading is not None
    assert reading.num_other_processes is None


@pytest.mark.parametrize("uuid", ["GPU-2", UUID])
def test_without_a_driver_or_the_device_nothing_is_read(uuid: str) -> None:
    refused = frozenset({"init"}) if uuid == UUID else frozenset[str]()
    assert GpuMonitor(FakeNvml(refused=refused), uuid).read() is None


def test_a_device_is_numbered_as_the_driver_counts_or_not_at_all() -> None:
    assert physical_index(FakeNvml(), UUID) == 5
    assert physical_index(FakeNvml(), "GPU-2") is None
    assert physical_index(FakeNvml(refused=frozenset({"init"})), UUID) is None


def test_an_idle_device_or_a_set_clock_is_no_throttling() -> None:
    assert reasons_in(0x1 | 0x2 | 0x100) == ()
    assert reasons_in(0x40 | 0x20) == ("heat", "hardware_heat")
