import time
from typing import Protocol

import torch
from torch import Tensor


class Step(Protocol):
    """One forward and, in training, one backward, over inputs that do not change."""

    @property
    def has_backward(self) -> bool:
        """Whether there is one; else the forward is all of the step."""
        ...

    def forward(self) -> Tensor:
        """Run the forward part."""
        ...

    def backward(self, output: Tensor) -> None:
        """Run the backward part from what `forward` returned; nothing where there is none."""
        ...


class Clock(Protocol):
    """Times one step on one rank."""

    def time(self, step: Step) -> tuple[int, int]:
        """Nanoseconds of the forward part and of the whole step."""
        ...


class HostClock:
    """CLOCK_MONOTONIC; right where every call returns only when its work is done."""

    def time(self, step: Step) -> tuple[int, int]:
        """Stamp before, between and after."""
        begin = time.perf_counter_ns()
        output = step.forward()
        middle = time.perf_counter_ns()
        step.backward(output)
        end = time.perf_counter_ns()
        return middle - begin, end - begin


class CudaClock:
    """CUDA events on the current stream; collectives are synchronous to it and so inside."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._begin, self._middle, self._end = (
            torch.cuda.Event(enable_timing=True) for _ in range(3)
        )

    def time(self, step: Step) -> tuple[int, int]:
        """Record, run, and read only after the last event has happened."""
        torch.cuda.synchronize(self._device)
        self._begin.record()
        output = step.forward()
        self._middle.record()
        step.backward(output)
        self._end.record()
        self._end.synchronize()
        forward_ms = self._begin.elapsed_time(self._middle)
        return round(forward_ms * 1e6), round(self._begin.elapsed_time(self._end) * 1e6)


def clock_for(device: torch.device) -> Clock:
    """The clock that is honest on this device."""
    return CudaClock(device) if device.type == "cuda" else HostClock()
