"""Text where a number is expected, and numbers that no longer are any."""

import pytest

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.reading import read
from service.analysis.nccl_tests.table import Row, Told
from tests.unit.analysis.nccl_tests.test_reading import text_of


@pytest.mark.parametrize(
    "mean", ["-nan", "nan", "...", "1.2e", "1.2.3", "-", "e5", "+", "47.4509x"]
)
def test_a_footer_without_a_number_says_nothing_of_the_rows(mean: str) -> None:
    text = text_of("a40-x2-nv4.all_reduce.txt")
    reading = read(text.replace("47.4509", mean).encode())
    assert reading == read(text.encode())


def test_a_time_that_is_no_number_any_more_is_left_out() -> None:
    row = "8 2 float sum -1 {} 0.00 0.00 0 12.87 0.00 0.00 0\n"
    both = row.format("12.90") + row.format("9" * 400)
    reading = read(both.encode(), Told(Operation.ALL_REDUCE, num_ranks=4))
    assert reading.tables[0].rows == (Row(8, 12.9, 12.87),)
    assert reading.skipped[0].line == 2
