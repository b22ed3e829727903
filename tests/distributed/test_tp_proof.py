"""The proof over real processes and gloo: what it shows, and what its counter sees."""

import random
from typing import cast

import pytest
import torch
import torch.distributed as dist
from torch.distributed.tensor.debug import CommDebugMode

from tests.distributed.conftest import SpawnRanks
from tests.distributed.implementations import using
from workers.contract.axes import (
    Activation,
    Arrangement,
    Block,
    CollectiveImpl,
    Dtype,
    Overlap,
    Phase,
)
from workers.contract.implementations import judge_impl
from workers.contract.overlapping import judge_overlap
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.sharding import judge
from workers.contract.trial import Proof
from workers.contract.workload import expected_messages
from workers.tp.blocks import draw_shard
from workers.tp.counter import CollectiveCounter
from workers.tp.group import TensorParallelGroup
from workers.tp.proof import prove, with_few_tokens
from workers.tp.step import StepInputs, count_step

CPU = torch.device("cpu")

NUM_PROOF_TOKENS = 8


def spec_of(
    block: Block,
    phase: Phase,
    *,
    tp_degree: int,
    dtype: Dtype,
    arrangement: Arrangement = Arrangement.COLUMN_ROW,
    overlap: Overlap = Overlap.NONE,
    **shape: object,
) -> PointSpec:
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 4} | shape
    return PointSpec(
        model=ModelShape.model_validate(sizes),
        block=block,
        arrangement=arrangement,
        phase=phase,
        tp_degree=tp_degree,
        batch=12,
        seq=5,
        dtype=dtype,
        overlap=overlap,
    )


def random_specs(tp_degree: int, *, num_specs: int) -> list[PointSpec]:
    """Every block, phase and arrangement over random shapes that can be sharded."""
    rng = random.Random(tp_degree)
    specs: list[PointSpec] = []
    while len(specs) < num_specs:
        kv_heads = rng.choice([1, 2, 4, 8])
        spec = spec_of(
            rng.choice(list(Block)),
            list(Phase)[len(specs) % 3],
            arrangement=list(Arrangement)[len(specs) // 3 % len(Arrangement)],
            overlap=rng.choice(list(Overlap)),
            tp_degree=tp_degree,
            dtype=rng.choice(list(Dtype)),
            hidden_size=rng.randint(2, 40),
            intermediate_size=tp_degree * rng.randint(1, 12),
            num_attention_heads=kv_heads * rng.choice([1, 2, 3, 4]),
            num_key_value_heads=kv_heads,
            head_dim=rng.randint(1, 9),
            gated=rng.random() < 0.5,
            activation=rng.choice(list(Activation)),
        )
        if judge(spec) is judge_overlap(spec) is None:
            specs.append(spec)
    return specs


def prove_all(
    group: TensorParallelGroup, specs: list[PointSpec], impl: CollectiveImpl
) -> list[Proof]:
    group = using(group, impl)
    return [
        prove(spec, group=group, device=CPU, seed=seed, reference_dtype=torch.float64)
        for seed, spec in enumerate(specs)
    ]


@pytest.mark.parametrize("impl", [CollectiveImpl.BACKEND, CollectiveImpl.SHARED_MEMORY])
@pytest.mark.parametrize("tp_degree", [2, 3, 4])
def test_random_blocks_are_proved_with_their_collectives(
    tp_degree: int, impl: CollectiveImpl, spawn_ranks: SpawnRanks
) -> None:
    specs = random_specs(tp_degree, num_specs=72)
    assert len({spec.kv_copies for spec in specs}) > 1
    assert len({(spec.arrangement, spec.phase) for spec in specs}) == 24
    assert {spec.overlap for spec in specs} == set(Overlap)
    asked = [spec.model_copy(update={"collective_impl": impl}) for spec in specs]
    specs = [spec for spec in asked if judge_overlap(spec) is judge_impl(spec) is None]
    results = spawn_ranks(tp_degree, prove_all, specs, impl)
    assert all(proofs == results[0] for proofs in results), "the ranks came to different proofs"
    for spec, proof in zip(specs, cast("list[Proof]", results[0]), strict=True):
        assert proof.max_rel_error <= proof.tolerance == 1e-12
        proved = with_few_tokens(spec)
        messages = expected_messages(proved)
        assert proof.num_collectives == len(messages)
        assert proof.collective_bytes == sum(message.message_bytes for message in messages)
        assert (proof.num_tokens, proof.is_reduced) == (proved.num_tokens, False)


def prove_reduced(group: TensorParallelGroup, spec: PointSpec, room_of_last: int) -> Proof:
    """Only the last rank is short of memory."""
    room = room_of_last if group.rank == group.size - 1 else 1 << 40
    return prove(
        spec,
        group=group,
        device=CPU,
        seed=1,
        reference_dtype=torch.float32,
        memory_bytes=room,
    )


def test_all_ranks_reduce_the_shape_when_one_lacks_memory(spawn_ranks: SpawnRanks) -> None:
    spec = spec_of(
        Block.LAYER,
        Phase.TRAIN,
        tp_degree=2,
        dtype=Dtype.BFLOAT16,
        hidden_size=512,
        intermediate_size=1408,
        num_attention_heads=8,
        num_key_value_heads=2,
        gated=True,
    )
    first, second = cast("list[Proof]", spawn_ranks(2, prove_reduced, spec, 4_000_000))
    assert first == second
    assert first.is_reduced
    assert first.num_collectives == 4
    assert first.dtype == "float32"
    assert first.collective_bytes == 4 * NUM_PROOF_TOKENS * 128 * Dtype.BFLOAT16.num_bytes


Counts = tuple[dict[str, int], int]


def count_both_ways(group: TensorParallelGroup, specs: list[PointSpec]) -> list[Counts]:
    """Return what CommDebugMode and what our counter saw of one step of each."""
    seen = []
    for spec in specs:
        block = draw_shard(spec, rank=group.rank, seed=0, device=CPU, dtype=torch.float32)
        inputs = StepInputs.draw(spec, seed=0, device=CPU, dtype=torch.float32)
        with CommDebugMode() as oracle:
            copied = inputs.own(spec, rank=group.rank).copy(torch.float32, spec.phase)
            forward, backward = count_step(block, copied, group, spec.phase)
        counts = {str(op): num for op, num in oracle.get_comm_counts().items()}
        seen.append((counts, len(forward) + len(backward)))
    return seen


def test_the_counter_agrees_with_torchs_own_debug_mode(spawn_ranks: SpawnRanks) -> None:
    """2 for a block and 4 for a layer in training, 1 and 2 forward only, input requiring grad."""
    specs = [
        spec_of(block, phase, tp_degree=2, dtype=Dtype.FLOAT32)
        for phase in (Phase.TRAIN, Phase.PREFILL, Phase.DECODE)
        for block in Block
    ]
    for rank in cast("list[list[Counts]]", spawn_ranks(2, count_both_ways, specs)):
        assert [ours for _, ours in rank] == [2, 2, 4, 1, 1, 2, 1, 1, 2]
        assert [sum(counts.values()) for counts, _ in rank] == [2, 2, 4, 1, 1, 2, 1, 1, 2]


def test_the_counter_sees_what_is_only_started(spawn_ranks: SpawnRanks) -> None:
    specs = [
        spec_of(Block.LAYER, Phase.TRAIN, tp_degree=2, dtype=Dtype.FLOAT32, overlap=overlap)
        for overlap in Overlap
    ]
    for rank in cast("list[list[Counts]]", spawn_ranks(2, count_both_ways, specs)):
        assert [ours for _, ours in rank] == [4, 4, 8]
        assert [sum(counts.values()) for counts, _ in rank] == [4, 4, 8]


def count_stage(group: TensorParallelGroup, spec: PointSpec) -> list[tuple[str, int]]:
    block = draw_shard(spec, rank=group.rank, seed=0, device=CPU, dtype=torch.float32)
    inputs = StepInputs.draw(spec, seed=0, device=CPU, dtype=torch.float32)
    forward, backward = count_step(block, inputs.copy(torch.float32, spec.phase), group, spec.phase)
    return [(message.op, message.message_bytes) for message in (*forward, *backward)]


def test_each_rank_of_a_stack_sends_to_its_neighbours_alone(spawn_ranks: SpawnRanks) -> None:
    spec = spec_of(
        Block.LAYER,
        Phase.TRAIN,
        tp_degree=3,
        dtype=Dtype.FLOAT32,
        arrangement=Arrangement.LAYER_SPLIT,
    )
    one = ("send_recv", 12 * 5 * 16 * 4)
    assert spawn_ranks(3, count_stage, spec) == [[one] * 2, [one] * 4, [one] * 2]


def test_the_counter_sees_every_collective_of_each_arrangement(spawn_ranks: SpawnRanks) -> None:
    """None of them is hidden in another, nor seen twice, whatever the backend runs inside."""
    specs = [
        spec_of(
            Block.MLP, Phase.TRAIN, tp_degree=2, dtype=Dtype.FLOAT32, gated=True, arrangement=one
        )
        for one in Arrangement
        if one is not Arrangement.LAYER_SPLIT
    ]
    for rank in cast("list[list[Counts]]", spawn_ranks(2, count_both_ways, specs)):
        assert [ours for _, ours in rank] == [len(expected_messages(spec)) for spec in specs]
        assert [ours for _, ours in rank] == [2, 4, 5, 6, 0, 5, 4]
        assert [sum(counts.values()) for counts, _ in rank] == [2, 4, 5, 6, 0, 5, 4]


def count_other_collectives(group: TensorParallelGroup) -> list[tuple[str, int]]:
    """Send 10 float32 elements of each rank in every way that torch.distributed has."""
    part, whole = torch.ones(10), torch.ones(10 * group.size)
    with CollectiveCounter() as counter:
        dist.all_reduce(part)
        dist.all_gather([torch.empty(10) for _ in range(group.size)], part)
        dist.all_gather_single(whole, part)
        dist.reduce_scatter_single(part, whole)
        dist.broadcast(part, src=0)
    return [(message.op, message.message_bytes) for message in counter.messages]


def test_the_counter_knows_every_collective_and_its_total_bytes(spawn_ranks: SpawnRanks) -> None:
    expected = [
        ("all_reduce", 40),
        ("all_gather", 80),
        ("all_gather", 80),
        ("reduce_scatter", 80),
        ("broadcast_", 40),
    ]
    assert spawn_ranks(2, count_other_collectives) == [expected, expected]
