"""Published figures about tensor parallelism that are pure arithmetic, re-derived."""

import pytest

from tests.unit.contract.points import point, shape
from workers.contract.axes import Block, Collective, Dtype, Phase
from workers.contract.bandwidth import bus_factor
from workers.contract.catalogue import resolve_model
from workers.contract.workload import expected_messages


def factor(num_ranks: int) -> float:
    return bus_factor(Collective.ALL_REDUCE, num_ranks=num_ranks)


def test_eighty_layers_all_reduce_160_times_forward_and_320_in_training() -> None:
    model = resolve_model("llama-2-70b")
    forward = expected_messages(point(model, block=Block.LAYER, phase=Phase.PREFILL))
    training = expected_messages(point(model, block=Block.LAYER, phase=Phase.TRAIN))
    assert (80 * len(forward), 80 * len(training)) == (160, 320)


def test_volume_of_each_rank_for_2_4_8_and_16() -> None:
    assert [factor(n) for n in (2, 4, 8, 16)] == [1.0, 1.5, 1.75, 1.875]


def test_doubling_the_ranks_adds_17_then_7_percent() -> None:
    assert factor(8) / factor(4) == pytest.approx(1.167, abs=0.0005)
    assert factor(16) / factor(8) == pytest.approx(1.071, abs=0.0005)


@pytest.mark.parametrize(
    ("batch", "message_bytes", "moved", "link_gb_per_s", "time_us"),
    [
        (1, 16 * 1024, 24 * 1024, 300, 0.0819),
        (128, 2 << 20, 3 << 20, 300, 10.49),
        (128, 2 << 20, 3 << 20, 32, 98.3),
    ],
)
def test_decode_message_of_hidden_8192_over_four_ranks(
    batch: int, message_bytes: int, moved: int, link_gb_per_s: float, time_us: float
) -> None:
    spec = point(
        shape(hidden=8192),
        phase=Phase.PREFILL,
        tp_degree=4,
        batch=batch,
        dtype=Dtype.BFLOAT16,
    )
    (message,) = expected_messages(spec)
    assert message.message_bytes == message_bytes
    assert message.message_bytes * factor(4) == moved
    assert moved / link_gb_per_s / 1e3 == pytest.approx(time_us, rel=0.001)
