import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.costmodel.gemm import Copy, GemmModel, Product, Roofline
from service.analysis.costmodel.prediction import Basis

TRUE = Roofline(overhead_us=6, flops_per_us=2e8, bytes_per_us=1.2e6)
SHAPES = [
    Product(1 << m, 1 << n, 1 << k)
    for m in range(0, 14, 2)
    for n in range(10, 15, 2)
    for k in range(10, 15, 2)
]


def model(*, noise: float = 0.0) -> GemmModel:
    rng = random.Random(1)
    times = {
        one: TRUE.time_us(one, element_bytes=2) * (1 + noise * rng.uniform(-1, 1)) for one in SHAPES
    }
    return GemmModel(times, element_bytes=2, calibration="test")


NOISY = model(noise=0.3)


def test_a_measured_product_is_predicted_as_measured() -> None:
    found = model(noise=0.05)
    for product, time in found.times_us.items():
        assert found.predict(product).time_us == pytest.approx(time, rel=0.05), "the noise"
        assert found.predict(product).basis is Basis.MEASURED


@given(st.data())
@settings(max_examples=50)
def test_more_rows_never_take_less_and_nothing_takes_no_time(data: st.DataObject) -> None:
    n, k = (data.draw(st.integers(1, 1 << 15)) for _ in range(2))
    rows = sorted(data.draw(st.lists(st.integers(1, 1 << 20), min_size=2, max_size=4)))
    times = [NOISY.predict(Product(m, n, k)).time_us for m in rows]
    assert times == sorted(times)
    assert times[0] > 0


def test_products_between_measured_ones_follow_the_roofline() -> None:
    found = model()
    for product in (Product(8, 8192, 4096), Product(700, 3000, 5000)):
        expected = TRUE.time_us(product, element_bytes=2)
        assert found.predict(product).time_us == pytest.approx(expected, rel=0.02)


def test_a_few_rows_against_a_large_matrix_cost_its_reading() -> None:
    """As in decode: twice the rows, the same time."""
    found = model()
    one, two = found.predict(Product(1, 16384, 16384)), found.predict(Product(2, 16384, 16384))
    assert one.time_us == pytest.approx(16384**2 * 2 / TRUE.bytes_per_us, rel=0.05)
    assert two.time_us == pytest.approx(one.time_us, rel=0.01)


def test_a_copy_tells_of_memory_what_products_of_many_rows_do_not() -> None:
    many_rows = {one: one.flops / TRUE.flops_per_us for one in SHAPES if one.m >= 4096}
    copied = Copy(1 << 30, (1 << 30) / TRUE.bytes_per_us)
    found = GemmModel(many_rows, element_bytes=2, calibration="test", copy=copied)
    one_row = Product(1, 16384, 16384)
    expected = 16384**2 * 2 / TRUE.bytes_per_us
    assert found.predict(one_row).time_us == pytest.approx(expected, rel=0.1)
    assert replace(found, copy=None).predict(one_row).time_us < expected / 10


def test_a_product_far_from_all_is_extrapolation() -> None:
    far = model().predict(Product(1 << 18, 1 << 20, 1 << 14))
    assert far.basis is Basis.EXTRAPOLATED


def test_a_handful_of_products_is_no_roofline() -> None:
    with pytest.raises(ValueError, match="2 products are no roofline"):
        GemmModel({SHAPES[0]: 1.0, SHAPES[1]: 1.0}, element_bytes=2, calibration="")
