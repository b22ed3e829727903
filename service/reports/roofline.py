"""Rooflines that calibrations measured: rates of matrix products, and of the memory beneath."""

from collections.abc import Sequence
from datetime import datetime
from statistics import median

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.costmodel.accelerators import find_accelerator
from service.analysis.costmodel.device import MemoryBasis, roofline_of
from service.analysis.costmodel.gemm import Copy, Product, largest_copy
from service.store import probes
from service.store.probes import MeasuredProbe
from service.store.result_filter import ResultFilter
from workers.contract.axes import Dtype
from workers.contract.frozen import Frozen
from workers.contract.probe import CopyProbe, GemmProbe, Probe


class ProductReport(Frozen):
    """x_MK @ w_KN on one device, its operands as they lie after the last product."""

    m: int
    n: int
    k: int
    time_us: float
    tflop_per_s: float
    gb_per_s: float = Field(description="Both operands and the product once, over the time.")
    flop_per_byte: float = Field(description="Arithmetic intensity.")


class CopyReport(Frozen):
    """One array copied to another, both lying as the last copy left them."""

    copied_bytes: int = Field(description="Of the one array.")
    time_us: float
    gb_per_s: float = Field(
        description="Each byte counted once as read and once as written, as STREAM does."
    )


class PeaksReport(Frozen):
    """What was published of the device."""

    name: str
    tflop_per_s: float
    memory_gb_per_s: float
    source: str


class RooflineReport(Frozen):
    """Of one device while num_ranks of them work at the same time."""

    hardware: str
    hardware_key: str
    dtype: Dtype
    num_ranks: int
    tflop_per_s: float = Field(description="Of the fastest product.")
    memory_gb_per_s: float | None = Field(
        description="By the faster of a copy and of reading a matrix; see memory_basis."
    )
    memory_basis: MemoryBasis | None = Field(
        description="copy: the largest copy, each byte counted once as read and once as written. "
        "one_row_product: the largest matrix, read once for a product of one row, as decode does."
    )
    ridge_flop_per_byte: float | None = Field(
        description="Intensity from which on arithmetic decides and not memory."
    )
    overhead_us: float | None = Field(description="Of one product of no size, fitted.")
    published: PeaksReport | None = Field(description="Null for what the catalogue does not have.")
    products: tuple[ProductReport, ...]
    copies: tuple[CopyReport, ...]
    sweep_id: str = Field(description="The last that measured any of it.")
    measured_at: datetime


def found(session: Session, *, hardware: str | None) -> Sequence[RooflineReport]:
    """By hardware, element type and number of ranks."""
    which = ResultFilter() if hardware is None else ResultFilter.on(hardware)
    return of_probes(probes.newest(session, which))


def of_probes(trials: Sequence[MeasuredProbe]) -> Sequence[RooflineReport]:
    """One for each hardware, element type and number of ranks with products. Pure."""
    groups: dict[tuple[str, str, int], list[MeasuredProbe]] = {}
    for one in trials:
        if isinstance(one.spec, GemmProbe | CopyProbe):
            key = (one.hardware_key, one.spec.dtype.value, one.spec.tp_degree)
            groups.setdefault(key, []).append(one)
    found = (groups[key] for key in sorted(groups))
    return [_report(own) for own in found if any(isinstance(t.spec, GemmProbe) for t in own)]


def _report(trials: Sequence[MeasuredProbe]) -> RooflineReport:
    last = max(trials, key=lambda one: one.measured_at)
    dtype = last.spec.dtype
    times: dict[Probe, list[float]] = {}
    for one in trials:
        times.setdefault(one.spec, []).append(one.time_us)
    medians = {probe: median(several) for probe, several in times.items()}
    products = {Product(p.m, p.n, p.k): us for p, us in medians.items() if isinstance(p, GemmProbe)}
    copies = {probe: us for probe, us in medians.items() if isinstance(probe, CopyProbe)}
    roofline = roofline_of(
        products,
        largest_copy([(probe.moved_bytes, us) for probe, us in copies.items()]),
        element_bytes=dtype.num_bytes,
    )
    return RooflineReport(
        hardware=last.hardware.accelerator,
        hardware_key=last.hardware_key,
        dtype=dtype,
        num_ranks=last.spec.tp_degree,
        tflop_per_s=roofline.tflop_per_s,
        memory_gb_per_s=roofline.memory_gb_per_s,
        memory_basis=roofline.memory_basis,
        ridge_flop_per_byte=roofline.ridge_flop_per_byte,
        overhead_us=roofline.fitted.overhead_us if roofline.fitted else None,
        published=_published(last.hardware.accelerator, dtype),
        products=tuple(_product(one, products[one], dtype) for one in sorted(products)),
        copies=tuple(
            _copy(probe, us)
            for probe, us in sorted(copies.items(), key=lambda one: one[0].copied_bytes)
        ),
        sweep_id=last.sweep_id,
        measured_at=last.measured_at,
    )


def _copy(probe: CopyProbe, time_us: float) -> CopyReport:
    return CopyReport(
        copied_bytes=probe.copied_bytes,
        time_us=time_us,
        gb_per_s=Copy(probe.moved_bytes, time_us).gb_per_s,
    )


def _product(product: Product, time_us: float, dtype: Dtype) -> ProductReport:
    moved_bytes = product.num_elements * dtype.num_bytes
    return ProductReport(
        m=product.m,
        n=product.n,
        k=product.k,
        time_us=time_us,
        tflop_per_s=product.flops / time_us / 1e6,
        gb_per_s=moved_bytes / time_us / 1e3,
        flop_per_byte=product.flops / moved_bytes,
    )


def _published(hardware: str, dtype: Dtype) -> PeaksReport | None:
    accelerator = find_accelerator(hardware)
    if accelerator is None:
        return None
    is_whole = dtype is Dtype.FLOAT32
    return PeaksReport(
        name=accelerator.name,
        tflop_per_s=accelerator.float32_tflops if is_whole else accelerator.half_tflops,
        memory_gb_per_s=accelerator.memory_gb_per_s,
        source=accelerator.source,
    )
