import time
from typing import Protocol

import torch
from torch import Tensor

from workers.contract.axes import Collective
from workers.contract.trial import Span
from workers.contract.workload import Message


class Inner(Protocol):
    """What is being timed."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum over ranks."""
        ...


class Spans(Protocol):
    """Collectives that remember when each call began and ended."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum over ranks, stamped."""
        ...

    def clear(self) -> None:
        """Forget the steps so far."""
        ...

    def collect(self) -> tuple[Span, ...]:
        """The spans of all steps since the last `clear`, one for each collective of a step."""
        ...


class HostSpans:
    """Stamps of CLOCK_MONOTONIC around calls that return when their work is done."""

    def __init__(self, inner: Inner, *, messages: tuple[Message, ...]) -> None:
        self._inner = inner
        self._messages = messages
        self._stamps: list[tuple[int, int]] = []

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum over ranks, stamped."""
        enter = time.perf_counter_ns()
        total = self._inner.all_reduce(tensor, where=where)
        self._stamps.append((enter, time.perf_counter_ns()))
        return total

    def clear(self) -> None:
        """Forget the steps so far."""
        self._stamps.clear()

    def collect(self) -> tuple[Span, ...]:
        """One span for each collective of a step, in the order they ran."""
        return _by_collective(self._stamps, self._messages)


class CudaSpans:
    """CUDA events around calls that the current stream waits for.

    The stamps of a rank are on its own clock, in nanoseconds since its first event.
    """

    def __init__(self, inner: Inner, *, messages: tuple[Message, ...]) -> None:
        self._inner = inner
        self._messages = messages
        self._events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum over ranks, stamped."""
        enter, leave = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        enter.record()
        total = self._inner.all_reduce(tensor, where=where)
        leave.record()
        self._events.append((enter, leave))
        return total

    def clear(self) -> None:
        """Forget the steps so far."""
        self._events.clear()

    def collect(self) -> tuple[Span, ...]:
        """Read the events; every step must have been synchronised."""
        if not self._events:
            return ()
        origin = self._events[0][0]
        stamps = [
            (round(origin.elapsed_time(enter) * 1e6), round(origin.elapsed_time(leave) * 1e6))
            for enter, leave in self._events
        ]
        return _by_collective(stamps, self._messages)


def spans_for(device: torch.device, inner: Inner, *, messages: tuple[Message, ...]) -> Spans:
    """The recorder whose clock is honest on this device."""
    recorder = CudaSpans if device.type == "cuda" else HostSpans
    return recorder(inner, messages=messages)


def _by_collective(
    stamps: list[tuple[int, int]], messages: tuple[Message, ...]
) -> tuple[Span, ...]:
    """Deal the stamps of whole steps out to the step's collectives, which run in a fixed order."""
    stride = len(messages)
    return tuple(
        Span(
            op=Collective(message.op),
            where=message.where,
            message_bytes=message.message_bytes,
            enter_ns=tuple(enter for enter, _ in stamps[place::stride]),
            exit_ns=tuple(leave for _, leave in stamps[place::stride]),
        )
        for place, message in enumerate(messages)
    )
