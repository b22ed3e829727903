"""Sharded blocks against the unsharded twin, for random shapes, ranks as threads."""

from functools import partial

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.unit.tp.specs import point_specs
from tests.unit.tp.thread_ranks import ThreadCollectives, run_ranks
from workers.contract.axes import Block
from workers.contract.point import PointSpec
from workers.contract.workload import messages_of_rank
from workers.tp.blocks import assemble, draw_shard, plan_weights
from workers.tp.exchange import complete_gradients
from workers.tp.group import TensorParallelGroup
from workers.tp.reference import Twin, cut, cut_cache, cut_tokens, draw_twin
from workers.tp.sharded_block import forward_sequences
from workers.tp.step import StepInputs, run_step

CPU = torch.device("cpu")

TOLERANCE = 1e-12
"""Float64 on widths below 100: a few hundred roundings of 1e-16."""
NORMED_TOLERANCE = 1e-10
"""Of a layer: the norm of two values that are close to each other makes roundings far larger."""


def assert_near(actual: Tensor, expected: Tensor, *, spec: PointSpec) -> None:
    scale = max(1.0, float(expected.abs().max()))  # what is 0 in theory is left of order 1
    tolerance = NORMED_TOLERANCE if spec.block is Block.LAYER else TOLERANCE
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance * scale)


@settings(max_examples=250)
@given(spec=point_specs(), seed=st.integers(0, 2**31))
def test_every_shard_computes_its_part_of_the_twin(spec: PointSpec, seed: int) -> None:
    """Output and input gradient whole on every rank, weight gradients by shards, copies summed."""
    twins = [
        draw_twin(spec, seed=seed + layer, device=CPU, dtype=torch.float64)
        for layer in range(spec.num_layers)
    ]
    inputs = StepInputs.draw(spec, seed=seed + 1, device=CPU, dtype=torch.float64)
    whole = run_layers(twins, inputs.copy(torch.float64, spec.phase))

    def check(group: TensorParallelGroup, collectives: ThreadCollectives) -> list[Tensor]:
        own = group.rank if spec.num_layers > 1 else 0
        return check_rank(twins[own], inputs, whole[own], group, collectives)

    outputs = run_ranks(spec.tp_degree, check)
    is_alike = not spec.layout.has_token_shards and spec.num_layers == 1
    for other in outputs[1:] if is_alike else ():
        assert all(torch.equal(a, b) for a, b in zip(outputs[0], other, strict=True))


def run_layers(twins: list[Twin], inputs: StepInputs) -> list[tuple[Tensor, ...]]:
    """Return of each layer its output and the gradients of its input and weights, one by one."""
    trained = twins[0].spec.phase.has_backward
    given = [inputs.x]
    for twin in twins:
        output = twin.forward(given[-1].detach().requires_grad_(trained))
        given.append(output.detach())
    found: list[tuple[Tensor, ...]] = []
    gradient = inputs.grad
    for twin, x in zip(reversed(twins), reversed(given[:-1]), strict=True):
        step = StepInputs(x.detach().requires_grad_(trained), gradient)
        found.insert(0, run_step(twin.forward, twin.weights, step, twin.spec.phase))
        gradient = found[0][1] if trained else gradient
    return found


def check_rank(
    twin: Twin,
    inputs: StepInputs,
    whole: tuple[Tensor, ...],
    group: TensorParallelGroup,
    collectives: ThreadCollectives,
) -> list[Tensor]:
    """Compare one rank's step with the twin's; return what must be the same on every rank."""
    spec = twin.spec
    parts = cut(spec, [w.detach() for w in twin.weights], rank=group.rank, size=group.size)
    trained = spec.phase.has_backward
    cache = cut_cache(twin, rank=group.rank, size=group.size)
    weights = [part.clone().requires_grad_(trained) for part in parts]
    block = assemble(spec, weights, cache=cache)
    own = inputs.own(spec, rank=group.rank)
    copied = own.copy(torch.float64, spec.phase)
    actual = run_step(
        partial(forward_sequences, block, group=group), block.weights, copied, spec.phase
    )
    messages = messages_of_rank(spec, group.rank)
    in_float64 = [(one.op, one.where, 2 * one.message_bytes) for one in messages]
    assert collectives.calls == in_float64
    for before, after in zip((*own, *parts), (*copied, *block.weights), strict=True):
        assert torch.equal(before, after), "the step wrote to a tensor of its caller"
    assert_near(actual[0], cut_tokens(spec, whole[0], rank=group.rank), spec=spec)
    if trained:
        assert_near(actual[1], cut_tokens(spec, whole[1], rank=group.rank), spec=spec)
        gradients = complete_gradients(spec, actual[2:], group)
        expected = cut(spec, whole[2:], rank=group.rank, size=group.size)
        for gradient, twins in zip(gradients, expected, strict=True):
            assert_near(gradient, twins, spec=spec)
    return [tensor.detach() for tensor in actual[:2]]


@settings(max_examples=60)
@given(spec=point_specs(), seed=st.integers(0, 2**31))
def test_drawn_shards_run_in_bfloat16_and_stay_finite(spec: PointSpec, seed: int) -> None:
    inputs = StepInputs.draw(spec, seed=seed, device=CPU, dtype=torch.float32)

    def run(group: TensorParallelGroup, _: ThreadCollectives) -> tuple[Tensor, ...]:
        block = draw_shard(spec, rank=group.rank, seed=seed, device=CPU, dtype=torch.bfloat16)
        copied = inputs.own(spec, rank=group.rank).copy(torch.bfloat16, spec.phase)
        return run_step(
            partial(forward_sequences, block, group=group), block.weights, copied, spec.phase
        )

    for tensors in run_ranks(spec.tp_degree, run):
        assert all(tensor.dtype is torch.bfloat16 for tensor in tensors)
        assert all(bool(tensor.isfinite().all()) for tensor in tensors)
        assert [t.shape for t in tensors[2:]] == [p.shape for p in plan_weights(spec)] or (
            not spec.phase.has_backward
        )
