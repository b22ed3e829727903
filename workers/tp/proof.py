"""Shows that a sharded block computes what its unsharded twin does, before it is timed.

Every rank draws the same twin, cuts its own part out of it, runs one step of both, and compares its
own part. Then the ranks exchange what they found, so that all pass or all raise the same error.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from workers.contract.errors import NumericsError
from workers.contract.point import PointSpec
from workers.contract.trial import Proof
from workers.contract.workload import expected_messages, messages_of_rank
from workers.tp.blocks import assemble, plan_weights
from workers.tp.comparison import compare
from workers.tp.exchange import (
    complete_gradients,
    exchange_findings,
    largest_vote,
    num_odd_bits,
)
from workers.tp.findings import Findings, Judge
from workers.tp.group import TensorParallelGroup
from workers.tp.kv_cache import KvCache
from workers.tp.reduction import halve, halvings_needed
from workers.tp.reference import cut, cut_cache, cut_tokens, draw_twin
from workers.tp.sharded_block import ShardedBlock, forward_sequences
from workers.tp.step import StepInputs, count_step, run_stack, run_step

PROOF_BATCH, PROOF_SEQ = 2, 4
"""Two sequences, so that mixing them up shows; four tokens each, so that the causal mask does. In
decode as many are cached."""


def tolerance_of(dtype: torch.dtype) -> float:
    """Largest error allowed, relative to the largest element of each compared tensor.

    Both sides add the same products, in another order. Over n terms that moves a sum by about
    sqrt(n) roundings, and a layer's gradients pass through some ten such sums: below 1600 roundings
    for the widest shapes (n = 2**16), far below for common ones. A rounding is 6e-8 in float32 and
    1.1e-16 in float64. What has to be caught, a wrong shard or a sum too many, is of order 1.
    """
    return 1e-12 if dtype is torch.float64 else 1e-4


def prove(
    spec: PointSpec,
    *,
    group: TensorParallelGroup,
    device: torch.device,
    seed: int,
    reference_dtype: torch.dtype,
    memory_bytes: int | None = None,
) -> Proof:
    """Prove the block of `spec` on this group, or raise NumericsError or CollectiveCountError.

    Called on all ranks of the group at once, with the same arguments. Numbers are compared in
    `reference_dtype`, float32 or float64, on few tokens whatever the point's; collectives are
    counted in the point's own dtype. Where the twin needs more than `memory_bytes`, if given, on
    any rank, a reduced shape stands in. Nothing stays allocated.
    """
    few_tokens = with_few_tokens(spec)
    needed = 0
    if memory_bytes is not None:
        needed = halvings_needed(
            few_tokens, memory_bytes=memory_bytes, reference_bytes=reference_dtype.itemsize
        )
    num_halvings = largest_vote(needed, group, device)
    proved = halve(few_tokens, num_halvings)
    judge = Judge(proved, tolerance=tolerance_of(reference_dtype))
    inputs = StepInputs.draw(proved, seed=seed + 1, device=device, dtype=reference_dtype)
    findings = exchange_findings(_examine(judge, inputs, group, seed=seed), group, device)
    if error := judge.find_error(findings):
        raise error
    messages = expected_messages(proved)
    return Proof(
        max_abs_error=max(found.max_abs_error for found in findings),
        max_rel_error=max(found.max_rel_error for found in findings),
        tolerance=judge.tolerance,
        dtype=str(reference_dtype).removeprefix("torch."),
        num_tokens=proved.num_tokens,
        num_collectives=len(messages),
        collective_bytes=sum(message.message_bytes for message in messages),
        is_reduced=num_halvings > 0,
    )


def with_few_tokens(spec: PointSpec) -> PointSpec:
    """Return the point on the tokens of a proof; more of them where each rank takes a share."""
    batch = PROOF_BATCH
    few = spec.model_copy(update={"batch": batch, "seq": PROOF_SEQ})
    if not few.layout.has_token_shards:
        return few
    while few.num_tokens % few.tp_degree:
        batch += 1
        few = few.model_copy(update={"batch": batch})
    return few


def _examine(
    judge: Judge, inputs: StepInputs, group: TensorParallelGroup, *, seed: int
) -> Findings:
    """Run the twin and this rank's part of the block, and say how far they are apart."""
    spec, phase, dtype, device = judge.spec, judge.spec.phase, inputs.x.dtype, inputs.x.device
    twins = [
        draw_twin(spec, seed=seed + layer, device=device, dtype=dtype)
        for layer in range(spec.num_layers)
    ]
    own_layer = group.rank if spec.num_layers > 1 else 0
    twin = twins[own_layer]
    stack = [(twin.forward, twin.weights) for twin in twins]
    whole = run_stack(stack, inputs.copy(dtype, phase), phase, shown=own_layer)
    parts = cut(spec, twin.weights, rank=group.rank, size=group.size)
    cache = cut_cache(twin, rank=group.rank, size=group.size)
    block = _assemble_copy(spec, parts, dtype, cache)
    _check_shapes(spec, block, group, device)
    own = inputs.own(spec, rank=group.rank)
    copied = own.copy(dtype, phase)
    before = [tensor.detach().clone() for tensor in (*copied, *block.weights)]
    forward = partial(forward_sequences, block, group=group)
    actual = run_step(forward, block.weights, copied, phase)
    after = (*copied, *block.weights)
    num_changed = sum(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    # Counted only now: an implementation may take room for a message when it first comes.
    own_dtype: torch.dtype = getattr(torch, spec.dtype)
    own_block = _assemble_copy(spec, parts, own_dtype, cache)
    counted = count_step(own_block, own.copy(own_dtype, phase), group, phase)
    theirs = [cut_tokens(spec, tensor, rank=group.rank) for tensor in whole[:2]]
    ours = list(actual[:2])
    if phase.has_backward:
        theirs += cut(spec, whole[2:], rank=group.rank, size=group.size)
        ours += complete_gradients(spec, actual[2:], group)
    is_alike = not spec.layout.has_token_shards and spec.num_layers == 1
    return Findings.of(
        counted,
        expected=messages_of_rank(spec, group.rank),
        num_changed=num_changed,
        num_odd_bits=sum(num_odd_bits(t, group) for t in actual[:2]) if is_alike else 0,
        differences=[
            compare(our, their, tolerance=judge.tolerance)
            for our, their in zip(ours, theirs, strict=True)
        ],
        tolerance=judge.tolerance,
    )


def _assemble_copy(
    spec: PointSpec, parts: Sequence[Tensor], dtype: torch.dtype, cache: KvCache | None
) -> ShardedBlock:
    """Build a block on weights of its own, laid out as `draw_shard` lays them out."""
    copies = (
        part.detach().to(dtype, copy=True, memory_format=torch.contiguous_format) for part in parts
    )
    weights = [copy.requires_grad_(spec.phase.has_backward) for copy in copies]
    return assemble(spec, weights, cache=cache.copy(dtype) if cache else None)


def _check_shapes(
    spec: PointSpec, block: ShardedBlock, group: TensorParallelGroup, device: torch.device
) -> None:
    """Refuse weights of other shapes than planned, on all ranks, before any of them runs on one."""
    plans = plan_weights(spec)
    misfits = [
        index
        for index, (plan, weight) in enumerate(zip(plans, block.weights, strict=True), start=1)
        if weight.shape != plan.shape
    ]
    if worst := largest_vote(max(misfits, default=0), group, device):
        plan = plans[worst - 1]
        raise NumericsError(
            f"{plan.name} of a rank is not of the shape {plan.shape} that tp_degree="
            f"{spec.tp_degree} leaves of it; likely it was cut along the wrong axis"
        )
