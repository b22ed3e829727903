"""A plot in the terminal: ticks at powers of two, every point and crossing marked."""

import re

import pytest

from service.cli.curve_plot import plot


def lines_of(batches: list[int]) -> list[str]:
    curve = [(float(batch), 100.0 * batch**0.5) for batch in batches]
    return plot({"tp_degree 1": curve}, crossings=[], title="step").splitlines()


@pytest.mark.parametrize("batches", [[1], [1, 64], [3, 12], [1, 7, 4096], [2, 2048]])
def test_batches_are_marked_at_powers_of_two_and_no_point_is_lost(batches: list[int]) -> None:
    lines = lines_of(batches)
    axis = next(index for index, line in enumerate(lines) if line.endswith("-> (batch)"))
    ticks = [int(tick) for tick in lines[axis + 1].strip(" |").split()]
    assert all(tick & (tick - 1) == 0 for tick in ticks)
    assert ticks[0] <= min(batches) <= max(batches) <= ticks[-1]
    marks = "".join(line.split("|", 1)[1] for line in lines[1:axis])
    assert marks.count("1") == len(batches)


def test_a_crossing_is_marked_on_its_curve() -> None:
    curves = {"a": [(1.0, 100.0), (64.0, 6400.0)], "b": [(1.0, 800.0), (64.0, 800.0)]}
    drawn = plot(curves, crossings=[("b", 8.0)], title="step").splitlines()
    (row,) = [line for line in drawn if "X" in line]
    assert re.match(r"\s+[\d.]+ us \|", row)
    assert 700 < float(row.split()[0]) <= 800
