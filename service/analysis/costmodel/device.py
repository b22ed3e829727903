"""Roofline of a device as it was measured: what it makes of arithmetic and of memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from service.analysis.costmodel.gemm import (
    FEWEST_PRODUCTS,
    Copy,
    Product,
    Roofline,
    fit_products,
)


class MemoryBasis(StrEnum):
    """What a memory's bandwidth was measured by: the faster of the two is nearer to its roof."""

    COPY = "copy"
    """The largest copy, each byte counted once as read and once as written. Of a processor that
    fetches a line before it overwrites it this is two thirds of what moves."""
    ONE_ROW_PRODUCT = "one_row_product"
    """The product of one row with the largest matrix, which is read once, as decode does."""


@dataclass(frozen=True, slots=True)
class DeviceRoofline:
    """Rates of one device; GB = 1e9 bytes."""

    tflop_per_s: float
    """Of the fastest product."""
    memory_gb_per_s: float | None
    """None where there is neither a copy nor a product of one row."""
    memory_basis: MemoryBasis | None
    fitted: Roofline | None
    """Over all products and the copy; None where there are too few."""

    @property
    def ridge_flop_per_byte(self) -> float | None:
        """Arithmetic intensity above which arithmetic decides."""
        if self.memory_gb_per_s is None:
            return None
        return self.tflop_per_s * 1e3 / self.memory_gb_per_s


def roofline_of(
    times_us: Mapping[Product, float], copy: Copy | None, *, element_bytes: int
) -> DeviceRoofline:
    """From measured products, at least one, and a copy where there is one."""
    memory, basis = _memory(times_us, copy, element_bytes=element_bytes)
    return DeviceRoofline(
        tflop_per_s=max(one.flops / time / 1e6 for one, time in times_us.items()),
        memory_gb_per_s=memory,
        memory_basis=basis,
        fitted=fit_products(times_us, copy, element_bytes=element_bytes)
        if len(times_us) >= FEWEST_PRODUCTS
        else None,
    )


def _memory(
    times_us: Mapping[Product, float], copy: Copy | None, *, element_bytes: int
) -> tuple[float | None, MemoryBasis | None]:
    moved = {one: one.work(element_bytes=element_bytes).moved_bytes for one in times_us}
    single = [one for one in times_us if one.m == 1]
    largest = max(single, key=lambda one: moved[one], default=None)
    found = []
    if copy is not None:
        found.append((copy.gb_per_s, MemoryBasis.COPY))
    if largest is not None:
        rate = moved[largest] / times_us[largest] / 1e3
        found.append((rate, MemoryBasis.ONE_ROW_PRODUCT))
    return max(found, default=(None, None))
