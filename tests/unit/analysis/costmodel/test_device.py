"""What memory gives, by a copy and by the reading of a matrix."""

from service.analysis.costmodel.device import MemoryBasis, roofline_of
from service.analysis.costmodel.gemm import Copy, Product

TIMES = {Product(1, 1000, 1000): 400.0, Product(1000, 1000, 1000): 2e4}
"""4 MB read at 10 GB/s, and 100 GFLOP/s."""


def test_the_faster_of_copying_and_reading_is_the_roof() -> None:
    slow, fast = Copy(8e6, 1600.0), Copy(8e6, 400.0)
    by_reading = roofline_of(TIMES, slow, element_bytes=4)
    assert by_reading.memory_basis is MemoryBasis.ONE_ROW_PRODUCT
    assert round(by_reading.memory_gb_per_s or 0) == 10
    by_copy = roofline_of(TIMES, fast, element_bytes=4)
    assert (by_copy.memory_gb_per_s, by_copy.memory_basis) == (20, MemoryBasis.COPY)
    assert by_copy.ridge_flop_per_byte == 5


def test_a_calibration_of_before_copies_tells_it_by_reading() -> None:
    found = roofline_of(TIMES, None, element_bytes=4)
    assert found.memory_basis is MemoryBasis.ONE_ROW_PRODUCT


def test_without_either_there_is_no_memory_roof() -> None:
    found = roofline_of({Product(8, 64, 64): 1.0}, None, element_bytes=4)
    assert (found.memory_gb_per_s, found.memory_basis, found.ridge_flop_per_byte) == (None,) * 3
