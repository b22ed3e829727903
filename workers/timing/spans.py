import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from workers.contract.axes import Collective, Pass
from workers.contract.trial import Span
from workers.contract.workload import Message


class Pending(Protocol):
    """A collective that was started."""

    def wait(self) -> Tensor:
        """Its result."""
        ...


class Inner(Protocol):
    """What is being timed; `workers.tp.group` says what each operation does."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum over ranks."""
        ...

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        """Parts of all ranks."""
        ...

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        """This rank's part of the sum over ranks."""
        ...

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:
        """From one rank to another."""
        ...

    def start_all_reduce(self, tensor: Tensor, *, where: str) -> Pending:
        """Sum over ranks, started."""
        ...

    def start_all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Pending:
        """Parts of all ranks, started."""
        ...

    def start_reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Pending:
        """This rank's part of the sum over ranks, started."""
        ...


class Spans(ABC):
    """Collectives that remember when each call began and ended: between two marks of a clock.

    What is only started passes without a mark: while compute goes on no time around the call, or
    up to the wait for it, is the collective's own.
    """

    def __init__(
        self, inner: Inner, *, messages: tuple[Message, ...], timed_in: Pass = Pass.SPLIT
    ) -> None:
        self._inner = inner
        self._messages = messages
        self._timed_in = timed_in

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Sum over ranks, stamped."""
        self._mark()
        total = self._inner.all_reduce(tensor, where=where)
        self._mark()
        return total

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        """Parts of all ranks, stamped."""
        self._mark()
        gathered = self._inner.all_gather(part, whole, where=where)
        self._mark()
        return gathered

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        """This rank's part of the sum, stamped."""
        self._mark()
        scattered = self._inner.reduce_scatter(whole, part, where=where)
        self._mark()
        return scattered

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:
        """From one rank to another, stamped on both."""
        self._mark()
        sent = self._inner.send_recv(tensor, source=source, target=target, where=where)
        self._mark()
        return sent

    def start_all_reduce(self, tensor: Tensor, *, where: str) -> Pending:
        """Sum over ranks, started, unstamped."""
        return self._inner.start_all_reduce(tensor, where=where)

    def start_all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Pending:
        """Parts of all ranks, started, unstamped."""
        return self._inner.start_all_gather(part, whole, where=where)

    def start_reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Pending:
        """This rank's part of the sum, started, unstamped."""
        return self._inner.start_reduce_scatter(whole, part, where=where)

    def collect(self) -> tuple[Span, ...]:
        """The spans of all steps since the last `clear`, one for each collective of a step."""
        times = self._times_ns()
        stamps = list(zip(times[::2], times[1::2], strict=True))
        return _by_collective(stamps, self._messages, self._timed_in)

    @abstractmethod
    def clear(self) -> None:
        """Forget the steps so far."""

    @abstractmethod
    def _mark(self) -> None:
        """Note the time: of entering and of leaving a call in turn."""

    @abstractmethod
    def _times_ns(self) -> list[int]:
        """All marks since the last `clear`."""


class HostSpans(Spans):
    """Stamps of CLOCK_MONOTONIC around calls that return when their work is done."""

    def __init__(
        self, inner: Inner, *, messages: tuple[Message, ...], timed_in: Pass = Pass.SPLIT
    ) -> None:
        super().__init__(inner, messages=messages, timed_in=timed_in)
        self._stamps: list[int] = []

    def clear(self) -> None:
        """Forget the steps so far."""
        self._stamps.clear()

    def _mark(self) -> None:
        self._stamps.append(time.perf_counter_ns())

    def _times_ns(self) -> list[int]:
        return self._stamps


class CudaSpans(Spans):
    """CUDA events around calls that the current stream waits for.

    The stamps of a rank are on its own clock, in nanoseconds since its first event. They are read
    only once every step has been synchronised.
    """

    def __init__(
        self, inner: Inner, *, messages: tuple[Message, ...], timed_in: Pass = Pass.SPLIT
    ) -> None:
        super().__init__(inner, messages=messages, timed_in=timed_in)
        self._events: list[torch.cuda.Event] = []

    def clear(self) -> None:
        """Forget the steps so far."""
        self._events.clear()

    def _mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._events.append(event)

    def _times_ns(self) -> list[int]:
        return times_of(self._events)


def times_of(events: Sequence[torch.cuda.Event]) -> list[int]:
    """Nanoseconds of marks that enter and leave calls in turn, since the first of them.

    Each exit is placed by its distance from its own entry. CUDA gives distances as float32
    milliseconds: half a minute after the first mark the next one that it can name is 2 us away.
    """
    times: list[int] = []
    for enter, leave in zip(events[::2], events[1::2], strict=True):
        entered = _distance_ns(events[0], enter)
        times += [entered, entered + _distance_ns(enter, leave)]
    return times


def _distance_ns(first: torch.cuda.Event, second: torch.cuda.Event) -> int:
    milliseconds: float = first.elapsed_time(second)
    return round(milliseconds * 1e6)


def spans_for(
    device: torch.device,
    inner: Inner,
    *,
    messages: tuple[Message, ...],
    timed_in: Pass = Pass.SPLIT,
) -> Spans:
    """The recorder whose clock is honest on this device."""
    recorder = CudaSpans if device.type == "cuda" else HostSpans
    return recorder(inner, messages=messages, timed_in=timed_in)


def _by_collective(
    stamps: list[tuple[int, int]], messages: tuple[Message, ...], timed_in: Pass
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
            timed_in=timed_in,
        )
        for place, message in enumerate(messages)
    )
