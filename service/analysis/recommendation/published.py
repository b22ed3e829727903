"""A prediction from nothing but published peaks, for where nothing was measured or calibrated.

Compute takes the longer of its multiply-adds at the peak rate and its weights and cache at the
memory's; an all-reduce takes the ring's time at the link's rate and a start. Real devices reach a
part of the peaks, so the band is wide: from the peak to half of it, and a start of 10 to 30 us, as
NCCL's all-reduce of a few KiB takes between GPUs of one server.
"""

from math import sqrt

from service.analysis.recommendation.evidence import Predicted, Predictor
from workers.contract.bandwidth import bus_factor
from workers.contract.point import PointSpec
from workers.contract.published import Accelerator
from workers.contract.workload import (
    cached_per_rank,
    expected_messages,
    flops_per_rank,
    weights_per_rank,
)

LEAST_START_US, MOST_START_US = 10.0, 30.0
LEAST_OF_PEAK = 0.5
US = 1e6


def from_published(accelerator: Accelerator) -> Predictor:
    """Predict for servers of this accelerator; nothing beyond one server."""

    def predict(spec: PointSpec) -> Predicted | None:
        if spec.tp_degree > accelerator.num_devices:
            return None
        compute = compute_us(spec, accelerator)
        messages = expected_messages(spec)
        wire = wire_us(spec, accelerator.link.one_way_gb_per_s)
        least = wire + LEAST_START_US * len(messages)
        most = wire / LEAST_OF_PEAK + MOST_START_US * len(messages)
        low, high = compute + least, compute / LEAST_OF_PEAK + most
        return Predicted(
            step_us=sqrt(low * high),
            low_us=low,
            high_us=high,
            communication_us=sqrt(least * most),
            label=f"published peaks of {accelerator.name}",
        )

    return predict


def compute_us(spec: PointSpec, accelerator: Accelerator) -> float:
    """At the peaks."""
    num_bytes = (weights_per_rank(spec) + cached_per_rank(spec)) * spec.dtype.num_bytes
    passes = 3 if spec.phase.has_backward else 1
    by_memory = passes * num_bytes / (accelerator.memory_gb_per_s * 1e9)
    by_rate = flops_per_rank(spec) / (accelerator.bf16_tflop_per_s * 1e12)
    return max(by_memory, by_rate) * US


def wire_us(spec: PointSpec, one_way_gb_per_s: float) -> float:
    """Of all collectives of a step, by the ring's volume alone."""
    moved = sum(
        message.message_bytes * bus_factor(message.op, num_ranks=spec.tp_degree)
        for message in expected_messages(spec)
    )
    return moved / (one_way_gb_per_s * 1e9) * US
