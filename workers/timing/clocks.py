import time
from typing import NamedTuple, Protocol

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


class StepTime(NamedTuple):
    """Nanoseconds of one step on one rank."""

    forward_ns: int
    step_ns: int
    enqueue_ns: int | None = None
    """What the host took to start the step, without waiting for it; None where the host is what
    computes."""


class Clock(Protocol):
    """Times one step on one rank."""

    def time(self, step: Step) -> StepTime:
        """Run it once."""
        ...


class HostClock:
    """CLOCK_MONOTONIC; right where every call returns only when its work is done."""

    def time(self, step: Step) -> StepTime:
        """Stamp before, between and after."""
        begin = time.perf_counter_ns()
        output = step.forward()
        middle = time.perf_counter_ns()
        step.backward(output)
        end = time.perf_counter_ns()
        return StepTime(middle - begin, end - begin)


class CudaClock:
    """CUDA events on the current stream; collectives are synchronous to it and so inside."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._begin, self._middle, self._end = (
            torch.cuda.Event(enable_timing=True) for _ in range(3)
        )

    def time(self, step: Step) -> StepTime:
        """Record, run, and read only after the last event has happened."""
        torch.cuda.synchronize(self._device)
        began = time.perf_counter_ns()
        self._begin.record()
        output = step.forward()
        self._middle.record()
        step.backward(output)
        self._end.record()
        enqueue_ns = time.perf_counter_ns() - began
        self._end.synchronize()
        forward_ms = self._begin.elapsed_time(self._middle)
        step_ms = self._begin.elapsed_time(self._end)
        return StepTime(round(forward_ms * 1e6), round(step_ms * 1e6), enqueue_ns)


def clock_for(device: torch.device) -> Clock:
    """The clock that is honest on this device."""
    return CudaClock(device) if device.type == "cuda" else HostClock()
