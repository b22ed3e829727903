"""The contract's memory estimate against what torch's allocator handed out in a step."""

from functools import partial

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from workers.contract.axes import Arrangement, Block, Phase
from workers.contract.memory import estimated_bytes
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.tp.blocks import draw_shard
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.sharded_block import forward_sequences
from workers.tp.step import StepInputs, run_step

CPU = torch.device("cpu")
NUM_TOKENS = 512


def most_allocated(spec: PointSpec) -> int:
    """Bytes that one rank held at once: weights, input and what the step added to them."""
    group = TensorParallelGroup(0, spec.tp_degree, NoCollectives())
    inputs = StepInputs.draw(spec, seed=0, device=CPU, dtype=torch.float32)
    own = inputs.own(spec, rank=0).copy(torch.float32, spec.phase)
    block = draw_shard(spec, rank=0, seed=0, device=CPU, dtype=torch.float32)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run_step(partial(forward_sequences, block, group=group), block.weights, own, spec.phase)
    given = own if spec.phase.has_backward else own[:1]
    held = most = sum(int(tensor.nbytes) for tensor in (*block.weights, *given))
    assert profiler.profiler is not None
    assert profiler.profiler.kineto_results is not None
    events = profiler.profiler.kineto_results.events()
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            held += int(event.nbytes())
            most = max(most, held)
    return most


@pytest.mark.parametrize("arrangement", Arrangement)
@pytest.mark.parametrize("phase", [Phase.TRAIN, Phase.PREFILL])
@pytest.mark.parametrize("gated", [False, True])
def test_the_estimate_is_above_what_a_step_takes_but_not_far(
    arrangement: Arrangement, phase: Phase, *, gated: bool
) -> None:
    for block in Block:
        shape = {"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 8}
        spec = PointSpec(
            model=ModelShape.model_validate({**shape, "gated": gated}),
            block=block,
            arrangement=arrangement,
            phase=phase,
            tp_degree=4,
            batch=NUM_TOKENS // 64,
            seq=64,
        )
        if block not in spec.layout.blocks:
            continue
        for overlap in spec.layout.overlaps:
            overlapped = spec.model_copy(update={"overlap": overlap})
            measured = most_allocated(overlapped)
            assert measured <= estimated_bytes(overlapped) <= 3 * measured
