"""The standard deviation, against Python's own that rounds once."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.analysis.spread import standard_deviation

TIMES = st.floats(min_value=1e-3, max_value=1e9)


@given(st.lists(TIMES, min_size=2, max_size=9))
def test_it_is_what_fractions_say(values: list[float]) -> None:
    assert standard_deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-12)


@given(TIMES, st.integers(min_value=2, max_value=9))
def test_equal_values_have_none(value: float, n: int) -> None:
    assert standard_deviation([value] * n) == 0


@given(st.lists(TIMES, min_size=2, max_size=9))
def test_the_order_makes_no_difference(values: list[float]) -> None:
    assert standard_deviation(values) == standard_deviation(values[::-1])
