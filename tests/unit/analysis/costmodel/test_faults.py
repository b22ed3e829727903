"""Sound tables raise nothing; the unsound one does, and so does any that is slowed in a part."""

import math
import random
from collections.abc import Callable

import pytest

from service.analysis.costmodel.curve_noise import noise_of
from service.analysis.costmodel.faults import DoubtKind, Suspicion, misfits, suspicions
from tests.unit.analysis.costmodel.published import SOUND, UNSOUND, faster

LONG = [name for name in SOUND if len(faster(name)[0]) > 10]


def judge(name: str, times: list[float] | None = None) -> tuple[Suspicion, ...]:
    sizes, measured = faster(name)
    return suspicions(sizes, times or measured, spans_nodes="2node" in name)


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_table_raises_nothing(name: str) -> None:
    assert judge(name) == ()


def test_the_misconfigured_network_is_found_where_it_is_slow() -> None:
    found = judge(UNSOUND)
    assert found
    assert any(one.low_bytes <= 1 << 18 <= one.high_bytes for one in found)


def slow_middle(times: list[float], at: int, factor: float) -> list[float]:
    return [t * factor if at <= i < at + 5 else t for i, t in enumerate(times)]


def cliff(times: list[float], at: int, factor: float) -> list[float]:
    return [t * factor if i >= at else t for i, t in enumerate(times)]


def plateau(times: list[float], at: int, factor: float) -> list[float]:
    level = times[min(at + 4, len(times) - 1)] * factor
    return [max(t, level) if at <= i < at + 5 else t for i, t in enumerate(times)]


@pytest.mark.parametrize("factor", [2, 5])
@pytest.mark.parametrize("distort", [slow_middle, cliff, plateau])
@pytest.mark.parametrize("name", LONG)
def test_a_table_slowed_in_a_part_is_found_wherever_it_is(
    name: str,
    distort: Callable[[list[float], int, float], list[float]],
    factor: float,
) -> None:
    """Twice as slow in a node, two and a half times between nodes, whose sound curves bend more."""
    sizes, times = faster(name)
    factor *= 1.25 if "2node" in name else 1
    for at in range(3, len(sizes) - 3):
        found = judge(name, distort(times, at, factor))
        assert found, f"from {sizes[at]} bytes"
        assert any(
            one.low_bytes <= sizes[min(at + 5, len(sizes) - 1)] and one.high_bytes >= sizes[at - 1]
            for one in found
        )


def read_on_a_busy_host(seed: int, *, sigma: float, factor: float) -> set[DoubtKind]:
    """Two readings of each size, some of them disturbed; `factor` times slower in the middle."""
    rng = random.Random(seed)
    sizes = [1 << power for power in range(10, 25)]
    readings = {
        size: [
            (60 + size / 1200)
            * (factor if 1 << 14 <= size <= 1 << 18 else 1)
            * math.exp(rng.gauss(0, sigma))
            * (3 if rng.random() < sigma - 0.1 else 1)
            for _ in range(2)
        ]
        for size in sizes
    }
    fastest = [min(readings[size]) for size in sizes]
    return {one.kind for one in misfits(sizes, fastest, noise=noise_of(readings))}


def test_a_sound_curve_that_is_noisy_is_not_called_misconfigured() -> None:
    found = [
        read_on_a_busy_host(seed, sigma=sigma, factor=1) for seed in range(20) for sigma in (0.2, 1)
    ]
    assert not any(DoubtKind.CONFIGURATION in kinds for kinds in found)
    assert all(kinds == {DoubtKind.NOISE} for kinds in found[1::2]), "it cannot be judged"


def test_what_stands_out_of_the_noise_is_called_misconfigured_and_what_does_not_is_not() -> None:
    for seed in range(10):
        assert read_on_a_busy_host(seed, sigma=0.05, factor=3) == {DoubtKind.CONFIGURATION}
        assert read_on_a_busy_host(seed, sigma=0.8, factor=3) == {DoubtKind.NOISE}


def test_noise_is_what_readings_of_one_size_differ_by_or_else_how_rough_the_curve_is() -> None:
    smooth = {size: [10.0 + size] for size in range(1, 20)}
    assert noise_of(smooth) < 0.01
    assert noise_of({size: [time[0], 2 * time[0]] for size, time in smooth.items()}) > 0.3
    rough = {size: [time[0] * (1 + size % 2)] for size, time in smooth.items()}
    assert noise_of(rough) > 0.3


def test_a_few_sizes_are_not_judged() -> None:
    assert suspicions([1, 2, 4], [1.0, 9.0, 1.0], spans_nodes=False) == ()
