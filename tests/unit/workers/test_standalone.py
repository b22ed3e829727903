"""What is overlapped, run bare."""

import torch

from tests.unit.workers.test_spans import Noting
from workers.contract.axes import Collective, Pass
from workers.contract.workload import Message
from workers.timing.spans import HostSpans, spans_for
from workers.timing.standalone import StandaloneStep

CPU = torch.device("cpu")
MESSAGES = (
    Message(op=Collective.ALL_GATHER, where="again", message_bytes=64, is_overlapped=True),
    Message(op=Collective.REDUCE_SCATTER, where="scatter", message_bytes=64, is_overlapped=True),
    Message(op=Collective.ALL_REDUCE, where="sum", message_bytes=32, is_overlapped=True),
)


class Summing(Noting):
    """As if the other rank held the same; notes elements as well."""

    def all_reduce(self, tensor: torch.Tensor, *, where: str) -> torch.Tensor:
        self.calls.append((where, str(tensor.numel())))
        return tensor.mul_(2)


def test_each_message_runs_once_a_step_with_its_bytes_and_its_own_stamps() -> None:
    inner = Summing()
    spans = spans_for(CPU, inner, messages=MESSAGES, timed_in=Pass.STANDALONE)
    assert isinstance(spans, HostSpans)
    step = StandaloneStep(spans, messages=MESSAGES, num_ranks=2, device=CPU, dtype=torch.bfloat16)
    step.forward()
    step.forward()
    once = [("all_gather", "again"), ("reduce_scatter", "scatter"), ("sum", "16")]
    assert inner.calls == once * 2
    found = spans.collect()
    assert [(span.where, span.timed_in, len(span.enter_ns)) for span in found] == [
        (message.where, Pass.STANDALONE, 2) for message in MESSAGES
    ]


def test_sums_of_sums_stay_finite() -> None:
    message = MESSAGES[-1]
    step = StandaloneStep(
        Summing(), messages=[message], num_ranks=2, device=CPU, dtype=torch.float16
    )
    for _ in range(200):
        data = step.forward()
    assert bool(data.isfinite().all())
    assert float(data.abs().max()) < 10
