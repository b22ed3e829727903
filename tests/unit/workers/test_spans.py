"""Which call of which collective a stamp belongs to."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from workers.contract.axes import Collective
from workers.contract.workload import Message
from workers.timing.spans import CudaSpans, HostSpans, spans_for
from workers.tp.group import DoneAtOnce

MESSAGES = (
    Message(op=Collective.ALL_GATHER, where="mlp.input.forward", message_bytes=64),
    Message(op=Collective.REDUCE_SCATTER, where="mlp.output.forward", message_bytes=64),
    Message(op=Collective.ALL_REDUCE, where="mlp.backward", message_bytes=32),
    Message(op=Collective.SEND_RECV, where="layer.0.backward", message_bytes=32),
)


class Noting(DoneAtOnce):
    """Does nothing but say what was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        self.calls.append(("all_reduce", where))
        return tensor

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        self.calls.append(("all_gather", where))
        return whole[: part.shape[0]]

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        self.calls.append(("reduce_scatter", where))
        return part[: whole.shape[0]]

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> Tensor:  # noqa: ARG002
        self.calls.append(("send_recv", where))
        return tensor


def test_what_is_only_started_is_passed_on_without_a_stamp() -> None:
    inner = Noting()
    spans = spans_for(torch.device("cpu"), inner, messages=())
    part, whole = torch.ones(2), torch.ones(4)
    assert spans.start_all_reduce(part, where="a").wait() is part
    assert spans.start_all_gather(part, whole, where="b").wait().shape == (2,)
    assert spans.start_reduce_scatter(whole, part, where="c").wait().shape == (2,)
    assert inner.calls == [("all_reduce", "a"), ("all_gather", "b"), ("reduce_scatter", "c")]
    assert spans.collect() == ()


def step(spans: HostSpans, part: Tensor, whole: Tensor) -> tuple[Tensor, ...]:
    return (
        spans.all_gather(part, whole, where="mlp.input.forward"),
        spans.reduce_scatter(whole, part, where="mlp.output.forward"),
        spans.all_reduce(part, where="mlp.backward"),
        spans.send_recv(part, source=0, target=1, where="layer.0.backward"),
    )


def test_every_kind_of_collective_is_passed_on_and_stamped_under_its_own_name() -> None:
    inner = Noting()
    spans = spans_for(torch.device("cpu"), inner, messages=MESSAGES)
    assert isinstance(spans, HostSpans)
    part, whole = torch.ones(2), torch.ones(4)
    gathered, scattered, total, sent = step(spans, part, whole)
    assert {tensor.shape for tensor in (gathered, scattered, total, sent)} == {(2,)}
    step(spans, part, whole)
    assert inner.calls[:4] == [(str(m.op), m.where) for m in MESSAGES]
    found = spans.collect()
    assert [(s.op, s.where, s.message_bytes) for s in found] == [
        (m.op, m.where, m.message_bytes) for m in MESSAGES
    ]
    times = [time for step in (0, 1) for s in found for time in (s.enter_ns[step], s.exit_ns[step])]
    assert times == sorted(times)
    assert all(len(s.enter_ns) == len(s.exit_ns) == 2 for s in found)


def test_cleared_spans_hold_nothing() -> None:
    spans = spans_for(torch.device("cpu"), Noting(), messages=MESSAGES)
    assert isinstance(spans, HostSpans)
    step(spans, torch.ones(2), torch.ones(4))
    spans.clear()
    assert all(span.enter_ns == () for span in spans.collect())


def test_an_arrangement_that_sends_nothing_has_no_spans() -> None:
    assert spans_for(torch.device("cpu"), Noting(), messages=()).collect() == ()


class CudaEvent:
    """A mark of a made-up clock, whose distances come as CUDA's: float32 milliseconds."""

    def __init__(self, clock: Iterator[int]) -> None:
        self._clock = clock
        self.at_ns = 0

    def record(self) -> None:
        self.at_ns = next(self._clock)

    def elapsed_time(self, later: "CudaEvent") -> float:
        return torch.tensor((later.at_ns - self.at_ns) / 1e6, dtype=torch.float32).item()


def test_a_span_late_in_a_trial_is_as_exact_as_an_early_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths_ns = (20_500, 21_300, 20_500, 19_700)
    starts_ns = (0, 10**9 + 3, 17 * 10**9 + 1, 33 * 10**9 + 7)
    marks = [
        mark
        for start, length in zip(starts_ns, lengths_ns, strict=True)
        for mark in (start, start + length)
    ]
    clock = iter(marks)
    monkeypatch.setattr(torch.cuda, "Event", lambda **_: CudaEvent(clock))
    spans = spans_for(torch.device("cuda"), Noting(), messages=MESSAGES[2:3])
    assert isinstance(spans, CudaSpans)
    for _ in starts_ns:
        spans.all_reduce(torch.ones(1), where="mlp.backward")
    (found,) = spans.collect()
    stamps = zip(found.enter_ns, found.exit_ns, strict=True)
    assert tuple(leave - enter for enter, leave in stamps) == lengths_ns
    assert found.enter_ns == pytest.approx(starts_ns, rel=1e-6)
