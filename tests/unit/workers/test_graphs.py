"""Recording and starting steps, with a recorder that keeps the work and runs it when started."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from tests.unit.workers.builders import order, point, rank_result
from workers.contract.axes import Pass
from workers.contract.errors import LaunchUnavailableError
from workers.contract.workload import expected_messages
from workers.measure import check_launch, measure
from workers.prepare import Place, Seat, Subject
from workers.runtime.watch import HostWatch
from workers.timing.clocks import Step, StepTime
from workers.timing.graphs import GraphedStep, GraphSpans, graphed
from workers.timing.peers import Peers
from workers.tp.group import NoCollectives, TensorParallelGroup


class FakeRecorder:
    """As a graph: recording runs the Python once, starting runs none of it."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def warm_up(self, work: Callable[[], object]) -> None:
        self.events.append("warm up")
        work()

    def record(self, work: Callable[[], None]) -> Callable[[], None]:
        name = f"graph {self.events.count('record')}"
        self.events.append("record")
        work()
        return lambda: self.events.append(f"start {name}")


class Noting:
    def __init__(self, *, has_backward: bool) -> None:
        self.has_backward = has_backward
        self.calls: list[str] = []
        self.output = torch.ones(1)

    def forward(self) -> Tensor:
        self.calls.append("forward")
        return self.output

    def backward(self, output: Tensor) -> None:
        assert output is self.output
        self.calls.append("backward")


def run(step: GraphedStep) -> None:
    step.backward(step.forward())


def test_a_step_is_recorded_once_after_warming_up_and_then_only_started() -> None:
    recorder, step = FakeRecorder(), Noting(has_backward=True)
    recorded = GraphedStep(step, recorder)
    assert recorded.has_backward
    for _ in range(3):
        run(recorded)
    assert step.calls == ["forward", "backward"] * 2, "to warm up, and to record"
    starts = ["start graph 0", "start graph 1"]
    assert recorder.events == ["warm up", "record", "record", *starts * 3]


def test_a_forward_alone_is_one_graph() -> None:
    recorder = FakeRecorder()
    recorded = GraphedStep(Noting(has_backward=False), recorder)
    run(recorded)
    run(recorded)
    assert recorder.events == ["warm up", "record", "start graph 0", "start graph 0"]


class Doubling:
    has_backward = True

    def __init__(self) -> None:
        self.weight = torch.ones(2, requires_grad=True)

    def forward(self) -> Tensor:
        return self.weight * 2

    def backward(self, output: Tensor) -> None:
        torch.autograd.grad(output, self.weight, torch.ones(2))


def test_a_recorded_step_leaves_no_node_to_another_passs_recording() -> None:
    """Nodes of the weights belong to the stream that they were first used on."""
    recorded = GraphedStep(Doubling(), FakeRecorder())
    first, second = recorded.forward(), recorded.forward()
    assert first.grad_fn is None
    assert first.data_ptr() == second.data_ptr()
    assert first.tolist() == [2, 2]


class LoggingClock:
    """Takes no time, and says what happens within a step's."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def time(self, step: Step) -> StepTime:
        self.log.append("begin")
        step.backward(step.forward())
        self.log.append("end")
        return StepTime(1_000, 2_000)


class Event:
    """One of a graph's, which says when it is read."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def elapsed_time(self, other: "Event") -> float:
        assert other.log is self.log
        self.log.append("read")
        return 0.001


def test_every_step_of_a_graph_is_read_and_none_within_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = order(phase="prefill", launch="cuda_graph")
    log: list[str] = []
    marks = GraphSpans(NoCollectives(), messages=expected_messages(told.point))
    monkeypatch.setattr(marks, "_events", [Event(log), Event(log)])
    monkeypatch.setattr("workers.measure.check_launch", lambda *_: None)
    monkeypatch.setattr("workers.measure.clock_for", lambda _: LoggingClock(log))

    def prepare(place: Place, seed: int) -> Subject:
        del seed
        split = GraphedStep(Noting(has_backward=False), FakeRecorder(), spans=marks)
        steps: dict[Pass, Step] = {Pass.CLEAN: Noting(has_backward=False), Pass.SPLIT: split}
        return Subject(place=place, steps=steps, spans={Pass.SPLIT: marks})

    made = rank_result(0)
    seat = Seat(
        rank=0,
        device=torch.device("cpu"),
        device_facts=made.device,
        environment=made.environment,
        group=TensorParallelGroup(0, 1, NoCollectives()),
        peers=Peers(None, clock_identity=""),
        watch=HostWatch(torch.device("cpu")),
        control={},
    )
    place = Place(number=0, spec=told.point, seat=seat, proof=made.proof)
    result = measure(told, [place], prepare=prepare)
    (span,) = result.spans
    assert len(span.enter_ns) == len(result.passes[Pass.SPLIT].step_ns) > 0
    assert {after for before, after in pairwise(log) if before == "begin"} == {"end"}


def test_each_pass_has_a_recorder_of_its_own() -> None:
    made: list[FakeRecorder] = []

    def recorder() -> FakeRecorder:
        made.append(FakeRecorder())
        return made[-1]

    steps = {kind: Noting(has_backward=True) for kind in (Pass.CLEAN, Pass.COMPUTE)}
    assert set(graphed(steps, {}, recorder=recorder)) == set(steps)
    assert len(made) == 2


def test_a_cpu_refuses_a_graph_and_says_what_works() -> None:
    with pytest.raises(LaunchUnavailableError, match="launch=eager works everywhere"):
        check_launch(point(launch="cuda_graph"), torch.device("cpu"))
    check_launch(point(launch="cuda_graph"), torch.device("cuda"))
    check_launch(point(), torch.device("cpu"))
