from itertools import combinations

import numpy as np
import pytest

from service.analysis.changepoints.segmentation import optimal_partition
from tests.unit.analysis.changepoints.nights import Values


def cost(values: Values, starts: tuple[int, ...], *, penalty: float) -> float:
    pieces = np.split(values, starts)
    squares = sum(float(np.square(piece - piece.mean()).sum()) for piece in pieces)
    return squares + penalty * len(pieces)


def cheapest(values: Values, *, penalty: float, smallest: int) -> float:
    """Cost of the best of all partitions."""
    n = values.size
    partitions = (
        starts
        for number in range(n // smallest)
        for starts in combinations(range(smallest, n), number)
        if min(np.diff((0, *starts, n))) >= smallest
    )
    return min(cost(values, starts, penalty=penalty) for starts in partitions)


@pytest.mark.parametrize("smallest", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [4, 5, 8, 10])
def test_no_partition_is_cheaper(n: int, smallest: int) -> None:
    rng = np.random.default_rng([n, smallest])
    for _ in range(5):
        values = rng.standard_normal(n) + np.repeat(rng.standard_normal(n) * 3, 4)[:n]
        starts = optimal_partition(values, penalty=2.0, smallest=smallest, longest=100)
        assert min(np.diff((0, *starts, n))) >= smallest
        expected = cheapest(values, penalty=2.0, smallest=smallest)
        assert cost(values, starts, penalty=2.0) == pytest.approx(expected)


def test_segments_are_no_longer_than_allowed() -> None:
    starts = optimal_partition(np.zeros(50), penalty=1.0, smallest=4, longest=20)
    assert max(np.diff((0, *starts, 50))) <= 20


def test_less_than_two_segments_is_no_change() -> None:
    assert optimal_partition(np.arange(7.0), penalty=0.0, smallest=4, longest=100) == ()
