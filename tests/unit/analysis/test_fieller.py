"""Where a mean curve may be zero."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from service.analysis.fieller import doubtful_spans

GRID = np.log([2 * 2 ** (step / 4) for step in range(25)]).tolist()
"""Batches 2 to 128 and three between each two."""


@example(GRID)
@given(st.lists(st.floats(0, 10), min_size=2, max_size=40, unique=True).map(sorted))
def test_spans_of_neighbouring_pieces_are_one_that_ends_where_the_last_piece_does(
    positions: list[float],
) -> None:
    """Two replicates on either side of 0 everywhere: the mean may be 0 at every position."""
    values = np.array([[1.0] * len(positions), [-1.0] * len(positions)])
    assert doubtful_spans(values, positions) == [(positions[0], positions[-1])]
