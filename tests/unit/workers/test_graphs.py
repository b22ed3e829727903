"""Recording and starting steps, with a recorder that keeps the work and runs it when started."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.unit.workers.builders import point
from workers.contract.axes import Pass
from workers.contract.errors import LaunchUnavailableError
from workers.measure import check_launch
from workers.timing.graphs import GraphedStep, graphed


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
