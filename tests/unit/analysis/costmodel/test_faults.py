"""Sound tables raise nothing; the unsound one does, and so does any that is slowed in a part."""

from collections.abc import Callable

import pytest

from service.analysis.costmodel.faults import Suspicion, suspicions
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


def test_a_few_sizes_are_not_judged() -> None:
    assert suspicions([1, 2, 4], [1.0, 9.0, 1.0], spans_nodes=False) == ()
