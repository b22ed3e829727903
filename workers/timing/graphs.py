"""CUDA graphs: a step recorded once and started as a whole, so that the host's part is left out.

Written after torch's own `make_graphed_callables`: forward and backward are two graphs over one
memory pool, so that the time between them can be taken. Not seen on a GPU by us so far.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import torch
from torch import Tensor

from workers.contract.axes import Pass
from workers.contract.workload import Message
from workers.timing.clocks import Clock, Step, StepTime
from workers.timing.spans import Inner, Spans, times_of

NUM_WARM_UP = 3
"""Runs before recording: libraries choose their kernels and take their workspaces then."""


class Recorder(Protocol):
    """What records work that a device is given; a test brings its own."""

    def warm_up(self, work: Callable[[], object]) -> None:
        """Run it as it will be recorded, beside the current stream."""

    def record(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record it without running it; return what starts it."""


class CudaRecorder:
    """Graphs of one device that share their memory: what one leaves the next may read."""

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()

    def warm_up(self, work: Callable[[], object]) -> None:
        """On the stream of the recording, so that its workspaces are there."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            for _ in range(NUM_WARM_UP):
                work()
        current.wait_stream(self._stream)

    def record(self, work: Callable[[], None]) -> Callable[[], None]:
        """Other threads, such as NCCL's watchdog, go on meanwhile."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(
            graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
        ):
            work()
        return graph.replay


class GraphSpans(Spans):
    """CUDA events that are part of the graphs: each start of those records the same ones anew.

    So they must be read after every step, which `GraphClock` does; nanoseconds since the step's
    first mark. What runs outside a recording leaves no mark.
    """

    def __init__(
        self, inner: Inner, *, messages: tuple[Message, ...], timed_in: Pass = Pass.SPLIT
    ) -> None:
        super().__init__(inner, messages=messages, timed_in=timed_in)
        self._events: list[torch.cuda.Event] = []
        self._stamps: list[int] = []
        self._is_unread = False

    def started(self) -> None:
        """A step is about to be started, and will leave its marks."""
        self._is_unread = True

    def read(self) -> None:
        """Keep the times of the step that was last started, once it is over; nothing twice."""
        if self._is_unread:
            self._stamps += times_of(self._events)
        self._is_unread = False

    def clear(self) -> None:
        """Forget the steps so far; the marks in the graphs stay."""
        self._stamps.clear()
        self._is_unread = False

    def _mark(self) -> None:
        if torch.cuda.is_current_stream_capturing():
            event = torch.cuda.Event(enable_timing=True, external=True)
            event.record()
            self._events.append(event)

    def _times_ns(self) -> list[int]:
        return self._stamps


class GraphClock:
    """A clock that reads the marks of a step which it has timed, since reading takes time too."""

    def __init__(self, clock: Clock, spans: Iterable[Spans]) -> None:
        self._clock = clock
        self._recorders = [one for one in spans if isinstance(one, GraphSpans)]

    def time(self, step: Step) -> StepTime:
        """Run it once."""
        taken = self._clock.time(step)
        for recorder in self._recorders:
            recorder.read()
        return taken


class GraphedStep:
    """The same step, recorded when it is first run and started from then on."""

    def __init__(self, step: Step, recorder: Recorder, *, spans: GraphSpans | None = None) -> None:
        self._step, self._recorder, self._spans = step, recorder, spans
        self.has_backward = step.has_backward
        self._outputs: list[Tensor] = []
        self._start_forward: Callable[[], None] | None = None
        self._start_backward: Callable[[], None] | None = None

    def forward(self) -> Tensor:
        """Start the forward part; the output is the same memory each time."""
        if self._start_forward is None:
            self._start_forward = self._record()
        if self._spans is not None:
            self._spans.started()
        self._start_forward()
        return self._outputs[0]

    def backward(self, output: Tensor) -> None:
        """Start the backward part of what was just started."""
        del output
        if self._start_backward is not None:
            self._start_backward()

    def _record(self) -> Callable[[], None]:
        step = self._step
        self._recorder.warm_up(lambda: step.backward(step.forward()))
        start = self._recorder.record(lambda: self._outputs.append(step.forward()))
        if self.has_backward:
            self._start_backward = self._recorder.record(lambda: step.backward(self._outputs[0]))
            # Else its graph lives on, and with it the weights' nodes, which belong to this
            # recording's stream: another pass's recording would meet them there.
            self._outputs[0] = self._outputs[0].detach()
        return start


def graphed(
    steps: Mapping[Pass, Step],
    spans: Mapping[Pass, Spans],
    *,
    recorder: Callable[[], Recorder],
) -> dict[Pass, Step]:
    """Return every pass's step as graphs, in memory of its own: a pass never reads another's.

    So the peak memory of such a point is that of all its passes together.
    """
    return {
        kind: GraphedStep(step, recorder(), spans=marks if isinstance(marks, GraphSpans) else None)
        for kind, step, marks in ((kind, step, spans.get(kind)) for kind, step in steps.items())
    }
