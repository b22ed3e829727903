"""Roofline of a device as it was measured: what it makes of arithmetic and of memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.analysis.costmodel.gemm import FEWEST_PRODUCTS, Product, Roofline, fit_roofline


@dataclass(frozen=True, slots=True)
class DeviceRoofline:
    """Rates of one device; GB = 1e9 bytes."""

    tflop_per_s: float
    """Of the fastest product."""
    memory_gb_per_s: float | None
    """Of the product of one row with the largest matrix, which is read once, as decode reads
    weights; None where no product has one row."""
    fitted: Roofline | None
    """Over all products; None where there are too few."""

    @property
    def ridge_flop_per_byte(self) -> float | None:
        """Arithmetic intensity above which arithmetic decides."""
        if self.memory_gb_per_s is None:
            return None
        return self.tflop_per_s * 1e3 / self.memory_gb_per_s


def roofline_of(times_us: Mapping[Product, float], *, element_bytes: int) -> DeviceRoofline:
    """From measured products, at least one."""
    works = {one: one.work(element_bytes=element_bytes) for one in times_us}
    single = [one for one in times_us if one.m == 1]
    largest = max(single, key=lambda one: works[one].moved_bytes, default=None)
    return DeviceRoofline(
        tflop_per_s=max(one.flops / time / 1e6 for one, time in times_us.items()),
        memory_gb_per_s=largest and works[largest].moved_bytes / times_us[largest] / 1e3,
        fitted=fit_roofline([*works.values()], [*times_us.values()])
        if len(times_us) >= FEWEST_PRODUCTS
        else None,
    )
