"""Curves over the batch as text, both axes logarithmic."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, exp, floor, log, log2

from service.figures import microseconds

HEIGHT, COLUMNS_PER_TICK, MOST_TICKS = 14, 10, 6
MARKS = "123456789"
CROSSING = "X"

Points = Sequence[tuple[float, float]]


def plot(
    curves: Mapping[str, Points], *, crossings: Sequence[tuple[str, float]], title: str
) -> str:
    """Draw each curve of (batch, microseconds) with a digit; X marks a named one at a batch.

    The library draws straight axes alone, so that it is given logarithms and labels are undone.
    """
    import plotille  # noqa: PLC0415 - only who looks at a plot waits for it

    figure = plotille.Figure()
    figure.with_colors = figure.origin = False
    first, doublings, num_ticks = _ticks(
        [batch for points in curves.values() for batch, _ in points]
    )
    figure.height = HEIGHT
    figure.width = COLUMNS_PER_TICK * num_ticks + 1  # the last point has a column too
    figure.x_label, figure.y_label = "batch", title
    figure.set_x_limits(first, first + doublings * figure.width / COLUMNS_PER_TICK)
    figure.set_y_limits(*_limits([time for points in curves.values() for _, time in points]))
    figure.y_ticks_fkt = _time_label
    figure.x_ticks_fkt = _batch_label
    for mark, (label, points) in zip(MARKS, curves.items(), strict=False):
        xs, ys = zip(*((log2(batch), log2(time)) for batch, time in points), strict=True)
        figure.plot(xs, ys, label=label, marker=mark)
    for name, batch in crossings:
        figure.text([log2(batch)], [log2(_at(curves[name], batch))], [CROSSING])
    return str(figure.show(legend=True))


def _ticks(batches: Sequence[float]) -> tuple[int, int, int]:
    """Logarithm of the first, doublings from one to the next, how many: all powers of two."""
    first, last = floor(log2(min(batches))), ceil(log2(max(batches)))
    doublings = max(1, ceil((last - first) / MOST_TICKS))
    return first, doublings, max(1, ceil((last - first) / doublings))


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = log2(min(values)), log2(max(values))
    margin = max(0.05 * (high - low), 0.1)
    return low - margin, high + margin


def _at(points: Points, batch: float) -> float:
    """The curve's time at a batch between two of its own, on a straight line in logarithms."""
    ordered = sorted(points)
    for (left, before), (right, after) in pairwise(ordered):
        if left <= batch <= right:
            share = log2(batch / left) / log2(right / left)
            return exp(log(before) + share * log(after / before))
    return ordered[-1][1]


def _time_label(value: float, following: float) -> str:
    del following
    return microseconds(2**value)


def _batch_label(value: float, following: float) -> str:
    del following
    return f"{2**value:.0f}"
