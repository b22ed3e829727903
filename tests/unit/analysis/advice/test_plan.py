"""What is measured for advice, within a time and a memory."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.advice.plan import (
    BATCHES,
    FEWEST_BATCHES,
    PROBE_BYTES,
    PROBE_FLOPS,
    Machine,
    Question,
    measurement,
    probe,
    scaled,
)
from service.analysis.advice.speed import Seen, Speed, read_bytes, speed_of
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.memory import estimated_bytes
from workers.contract.presets import PRESETS
from workers.contract.sharding import judge
from workers.contract.workload import flops_per_rank

LAPTOP = Machine(num_devices=2, slot_memory_bytes=4 << 30, accelerator="Test CPU")
SPEED = Speed(flop_per_s=3e10, bytes_per_s=8e9, drawn_bytes_per_s=2e8, start_s=6)


def question(model: str, phase: Phase = Phase.DECODE, batches: tuple[int, ...] = ()) -> Question:
    return Question(
        layer=PRESETS[model].shape, phase=phase, seq=64, dtype=Dtype.FLOAT32, batches=batches
    )


def test_a_small_layer_is_measured_as_it_is_at_all_batches() -> None:
    found = measurement(question("gpt2"), LAPTOP, SPEED, time_s=75)
    assert found is not None
    assert (found.scale, found.sweep.batch) == (1.0, BATCHES)
    assert found.sweep.tp_degree == (1, 2)
    assert len(found.sweep.models) == 1
    assert found.estimated_s <= 75


def test_a_layer_that_is_too_large_gives_way_to_one_of_its_ratios() -> None:
    asked = question("llama-2-70b")
    found = measurement(asked, LAPTOP, SPEED, time_s=75)
    assert found is not None
    assert 0 < found.scale < 1
    assert len(found.sweep.batch) >= FEWEST_BATCHES
    big, small = asked.layer, found.layer
    for field in ("hidden_size", "intermediate_size", "head_dim"):
        assert getattr(small, field) == pytest.approx(found.scale * getattr(big, field))
    assert small.num_attention_heads == big.num_attention_heads
    assert small.num_key_value_heads == big.num_key_value_heads
    first, second = found.sweep.models
    assert first == small
    assert second.hidden_size <= small.hidden_size / 2, "it tells how far scaling is off"


def test_more_time_takes_a_larger_layer_and_never_more_than_there_is() -> None:
    scales = []
    for time_s in (40, 75, 300, 3000):
        found = measurement(question("llama-2-7b"), LAPTOP, SPEED, time_s=time_s)
        assert found is not None
        assert found.estimated_s <= time_s
        scales.append(found.scale)
    assert scales == sorted(scales)
    assert scales[0] < scales[-1]


def test_asked_batches_are_all_kept() -> None:
    found = measurement(question("llama-2-7b", batches=(2, 512)), LAPTOP, SPEED, time_s=75)
    assert found is not None
    assert found.sweep.batch == (2, 512)


def test_a_layer_stays_within_the_memory() -> None:
    tight = Machine(num_devices=2, slot_memory_bytes=64 << 20, accelerator="Test CPU")
    found = measurement(question("llama-2-7b"), tight, SPEED, time_s=3600)
    assert found is not None
    points = found.sweep.expand().points
    assert max(map(estimated_bytes, points)) <= 64 << 20


def test_no_time_at_all_is_no_measurement() -> None:
    assert measurement(question("gpt2"), LAPTOP, SPEED, time_s=5) is None


@settings(max_examples=30)
@given(st.sampled_from(sorted(PRESETS)), st.sampled_from(Phase))
def test_every_preset_has_a_probe_and_a_sweep_that_can_be_measured(
    model: str, phase: Phase
) -> None:
    asked = question(model, phase)
    small = probe(asked, LAPTOP)
    for point in small.expand().points:
        assert read_bytes(point) <= PROBE_BYTES
        assert flops_per_rank(point) <= PROBE_FLOPS
    found = measurement(asked, LAPTOP, SPEED, time_s=75)
    assert found is not None
    assert not found.sweep.expand().rejected
    assert all(judge(point) is None for point in found.sweep.expand().points)


def test_a_model_of_parallel_blocks_is_measured_in_its_parts() -> None:
    assert question("falcon-7b").blocks == (Block.ATTENTION, Block.MLP)
    assert question("gpt2").blocks == (Block.LAYER,)


def test_smaller_layers_can_be_cut_as_the_larger_can() -> None:
    sizes = list(scaled(PRESETS["llama-3-405b"].shape, (1, 2, 4)))
    assert [scale for _, scale in sizes] == sorted((s for _, s in sizes), reverse=True)
    assert all(layer.intermediate_size % 4 == 0 for layer, _ in sizes)


def test_speed_is_the_fastest_that_was_seen() -> None:
    points = probe(question("gpt2"), LAPTOP).expand().points
    times: Mapping[int, float] = {1: 1e-3, 4: 2e-3}
    seen = [Seen(spec=one, step_s=times[one.batch], beside_s=0.5) for one in points]
    found = speed_of(seen, start_s=4)
    assert found.flop_per_s == max(flops_per_rank(one.spec) / one.step_s for one in seen)
    for one in seen:
        assert found.step_s(one.spec) <= 2 * one.step_s
        assert found.trial_s(one.spec, sampled_s=3) == pytest.approx(3.5)


def test_where_processes_start_slowly_less_is_measured() -> None:
    asked = question("llama-2-7b")
    quick, slow = (
        measurement(asked, LAPTOP, replace(SPEED, start_s=start_s), time_s=75)
        for start_s in (3, 20)
    )
    assert quick is not None
    assert slow is not None
    assert slow.scale < quick.scale
