"""The real thing on one host: spawned ranks, gloo, proof, three passes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.analysis.summary import summarise
from tests.unit.workers.builders import order, point
from workers.contract.axes import Arrangement, Collective, Pass
from workers.contract.errors import (
    CollectiveCountError,
)
from workers.contract.hardware import NodeFacts
from workers.contract.trial import PassSamples, Span
from workers.contract.workload import expected_messages
from workers.local import LocalGroup
from workers.measure import check_every_step_is_counted

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def group(node: NodeFacts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalGroup]:
    logs = tmp_path_factory.mktemp("logs")
    with LocalGroup(size=2, degrees=(1, 2), node=node, log_dir=logs) as group:
        yield group


@pytest.mark.parametrize(
    ("block", "phase", "places"),
    [
        ("mlp", "train", ["mlp.forward", "mlp.backward"]),
        ("attention", "train", ["attention.forward", "attention.backward"]),
        ("mlp", "prefill", ["mlp.forward"]),
        (
            "layer",
            "train",
            ["attention.forward", "mlp.forward", "mlp.backward", "attention.backward"],
        ),
        ("layer", "prefill", ["attention.forward", "mlp.forward"]),
    ],
)
def test_every_collective_of_a_step_is_counted_and_timed(
    group: LocalGroup, block: str, phase: str, places: list[str]
) -> None:
    result = group.measure(order(block=block, phase=phase))
    assert [timing.where for timing in result.collectives] == places
    assert result.proof.num_collectives == len(places)
    num_steps = len(result.samples[Pass.SPLIT][0].step_ns)
    for timing in result.collectives:
        assert timing.message_bytes == 2 * 4 * 32 * 4, "batch, seq, hidden, float32"
        assert len(timing.wire_ns) == len(timing.wait_ns) == num_steps
        assert min(timing.wire_ns) > 0
        assert min(timing.wait_ns) >= 0


@pytest.mark.parametrize(
    "change", [{"collective_impl": "shared_memory"}, {"dtype": "bfloat16"}, {}]
)
def test_the_points_of_a_pair_are_both_proved_and_timed_equally_often(
    group: LocalGroup, change: dict[str, object]
) -> None:
    pair = order().model_copy(update={"pair_point": point(**change)})
    first = group.measure(pair)
    second = first.pair
    assert second is not None
    assert second.point == point(**change)
    for result in (first, second):
        assert result.proof.num_collectives == 2
        assert [timing.where for timing in result.collectives] == ["mlp.forward", "mlp.backward"]
        assert "paired" in result.quality
    for kind in (Pass.CLEAN, Pass.SPLIT, Pass.COMPUTE):
        assert len(first.samples[kind][0].step_ns) == len(second.samples[kind][0].step_ns)
    assert Pass.CONTROL_COLLECTIVE in first.samples
    is_alike = second.point.collective_impl is first.point.collective_impl
    assert (Pass.CONTROL_COLLECTIVE in second.samples) == is_alike, "each through its own, or not"
    assert Pass.CONTROL_GEMM in second.samples


@pytest.mark.parametrize("arrangement", Arrangement)
@pytest.mark.parametrize("phase", ["train", "decode"])
def test_every_arrangement_is_proved_and_timed_with_its_own_collectives(
    group: LocalGroup, phase: str, arrangement: Arrangement
) -> None:
    block = "layer" if arrangement is Arrangement.LAYER_SPLIT else "mlp"
    told = order(block=block, phase=phase, arrangement=arrangement)
    result = group.measure(told)
    expected = expected_messages(told.point)
    assert [(one.op, one.where, one.message_bytes) for one in result.collectives] == [
        (one.op, one.where, one.message_bytes) for one in expected
    ]
    assert all(min(timing.wire_ns) > 0 for timing in result.collectives)
    assert result.proof.num_collectives == len(expected)
    unneeded = {Pass.STANDALONE}
    unneeded |= {Pass.COMPUTE} if arrangement is Arrangement.LAYER_SPLIT else set()
    unneeded |= set() if expected else {Pass.SPLIT}
    assert set(result.samples) == set(Pass) - unneeded


@pytest.mark.parametrize("overlap", ["backward", "chunked"])
def test_what_runs_under_compute_is_timed_on_its_own(group: LocalGroup, overlap: str) -> None:
    told = order(block="mlp", phase="train", overlap=overlap)
    result = group.measure(told)
    assert [(one.where, one.message_bytes, one.timed_in) for one in result.collectives] == [
        (one.where, one.message_bytes, Pass.STANDALONE if one.is_overlapped else Pass.SPLIT)
        for one in expected_messages(told.point)
    ]
    assert all(min(timing.wire_ns) > 0 for timing in result.collectives)
    assert (Pass.SPLIT in result.samples) == (overlap == "backward")
    summary = summarise(result)
    assert summary.communication_time_us is None
    assert summary.standalone_communication_us is not None
    assert summary.standalone_communication_us > 0


def test_a_stack_of_layers_knows_how_long_each_rank_was_idle(group: LocalGroup) -> None:
    result = group.measure(order(block="layer", arrangement="layer_split", batch=16, seq=64))
    summary = summarise(result)
    first, second = summary.idle_shares
    assert 0.2 < first < 1
    assert 0.2 < second < 1
    assert first + second > 0.8, "never do both work"


@pytest.mark.parametrize("arrangement", ["column_row", "column_column", "sequence_parallel"])
def test_a_layer_decodes_against_its_cache(group: LocalGroup, arrangement: str) -> None:
    told = order(block="layer", phase="decode", arrangement=arrangement)
    result = group.measure(told)
    assert {one.where.split(".")[0] for one in result.collectives} == {"attention", "mlp"}
    assert max(one.message_bytes for one in result.collectives) == 2 * 4 * max(
        32, 64 if arrangement == "column_column" else 0
    ), "batch, float32, the widest message of one token"


def test_samples_of_all_passes_and_ranks_are_kept(group: LocalGroup) -> None:
    result = group.measure(order())
    assert set(result.samples) == set(Pass) - {Pass.STANDALONE}
    control = {Pass.CONTROL_GEMM, Pass.CONTROL_COLLECTIVE}
    for ranks in (result.samples[kind] for kind in set(result.samples) - control):
        assert len(ranks) == 2
        for samples in ranks:
            assert len(samples.step_ns) == len(samples.forward_ns) >= 10
            pairs = zip(samples.forward_ns, samples.step_ns, strict=True)
            assert all(0 < forward < step for forward, step in pairs)
    assert result.proof.max_rel_error <= result.proof.tolerance
    assert result.timed_ns < result.wall_ns


def test_a_rank_alone_sends_nothing_and_needs_one_pass(group: LocalGroup) -> None:
    result = group.measure(order(tp_degree=1))
    assert result.collectives == ()
    assert result.proof.num_collectives == 0
    assert set(result.samples) == {Pass.CLEAN, Pass.CONTROL_GEMM}


def test_a_forward_without_backward_is_all_of_the_step(group: LocalGroup) -> None:
    for samples in group.measure(order(phase="prefill")).samples[Pass.CLEAN]:
        assert samples.forward_ns == samples.step_ns


def test_replicated_key_value_heads_are_flagged(group: LocalGroup) -> None:
    shape = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
    }
    assert "kv_heads_replicated" in group.measure(order(block="attention", model=shape)).quality


def test_a_timed_step_that_runs_fewer_collectives_than_the_proved_one_is_refused() -> None:
    samples = PassSamples(step_ns=(1, 1, 1), forward_ns=(1, 1, 1))
    span = Span(
        op=Collective.ALL_REDUCE,
        where="mlp.backward",
        message_bytes=4,
        enter_ns=(1, 2),
        exit_ns=(2, 3),
    )
    with pytest.raises(CollectiveCountError, match="require a gradient"):
        check_every_step_is_counted({Pass.SPLIT: samples}, [span])


def test_implementations_of_the_collectives_take_turns_in_one_group(group: LocalGroup) -> None:
    for impl in ("shared_memory", "backend", "shared_memory"):
        result = group.measure(order(block="layer", collective_impl=impl))
        places = ["attention.forward", "mlp.forward", "mlp.backward", "attention.backward"]
        assert [timing.where for timing in result.collectives] == places
        assert result.proof.num_collectives == 4
        assert result.proof.max_rel_error <= result.proof.tolerance
        num_steps = len(result.samples[Pass.SPLIT][0].step_ns)
        assert {len(timing.wire_ns) for timing in result.collectives} == {num_steps}


def test_noise_of_gloos_threads_is_not_held_against_what_does_without(group: LocalGroup) -> None:
    spec = order(collective_impl="shared_memory")
    assert "scheduler_noise" not in group.measure(spec).quality


@pytest.mark.parametrize(
    ("impl", "tp_degree", "is_known"),
    [("backend", 2, True), ("shared_memory", 2, False), ("shared_memory", 1, True)],
)
def test_a_profile_tells_the_share_of_what_the_profiler_can_see(
    group: LocalGroup, impl: str, tp_degree: int, *, is_known: bool
) -> None:
    told = order(collective_impl=impl, tp_degree=tp_degree).model_copy(update={"profile": True})
    profile = group.measure(told).profile
    assert profile is not None
    assert (profile.collective_share is not None) == is_known
    if is_known:
        assert ((profile.collective_share or 0) > 0) == (tp_degree > 1)


def test_a_rank_knows_of_the_cores_that_it_is_not_pinned_to(group: LocalGroup) -> None:
    assert group.measure(order()).environment.num_cores == len(os.sched_getaffinity(0))


def test_ranks_that_are_given_one_core_are_oversubscribed_however_many_the_host_has(
    node: NodeFacts, tmp_path: Path
) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with LocalGroup(size=2, degrees=(2,), node=node, log_dir=tmp_path) as group:
            result = group.measure(order())
    finally:
        os.sched_setaffinity(0, allowed)
    assert result.environment.num_cores == 1
    assert "oversubscribed" in result.quality
