"""A calibration: the probes that tell what one kind of hardware takes for what steps consist of."""

from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, Field, Strict, StrictInt, model_validator

from workers.contract.axes import Collective, CollectiveImpl, Dtype
from workers.contract.frozen import Frozen
from workers.contract.implementations import SYMMETRIC, SYMMETRIC_DEGREES, SYMMETRIC_DTYPES
from workers.contract.one_or_many import Axis
from workers.contract.probe import (
    LARGEST_COPY_BYTES,
    LARGEST_MESSAGE_BYTES,
    CollectiveProbe,
    CopyProbe,
    GemmProbe,
    Probe,
)
from workers.contract.sharding import Rejection
from workers.contract.sweep import Degree, Impl, Sampling, SweepFrame, SweepSpec

SMALLEST_MESSAGE_BYTES = 1 << 10
MEASURED = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
TIME_S = 100.0
ROWS = (1, 8, 64, 512, 4096)
"""Tokens of a step: from decode of one sequence to prefill."""


def _has_a_curve(op: Collective) -> Collective:
    if op not in MEASURED:
        raise ValueError(f"curves are measured of {', '.join(MEASURED)}")
    return op


def _without_repeats(values: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(dict.fromkeys(values))


Value = TypeVar("Value")
Distinct = Annotated[Axis[Value], AfterValidator(_without_repeats)]
"""An axis that takes a value as often as it is named, and keeps it once."""


class ProductGrid(Frozen):
    """Matrix products x_MK @ w_KN, of every M, N and K but for the longest."""

    widths: Distinct[Annotated[StrictInt, Field(ge=16, le=1 << 16)]]
    """Of N and of K."""
    largest_gflop: Annotated[float, Field(gt=0, le=1e5)]
    """Larger products are left out."""


PRODUCTS = {
    "cpu": ProductGrid(widths=(256, 1024, 4096), largest_gflop=2.2),
    "cuda": ProductGrid(widths=(512, 2048, 8192), largest_gflop=1200),
}
"""By kind of device; the largest take some 0.1 s on a core, some 2 ms on a GPU."""
COPIED_BYTES = {"cpu": 1 << 26, "cuda": 1 << 30}
"""Source and target together lie beyond the last cache; some 10 ms on a core, 1 ms on a GPU."""


class CalibrationSpec(SweepFrame):
    """Which probes; what is not given follows from the devices that are known."""

    tp_degree: Axis[Degree] = ()
    """Where not given the powers of two that a node holds, each rank with a core of its own."""
    collectives: Distinct[Annotated[Collective, AfterValidator(_has_a_curve)]] = MEASURED
    collective_impl: Distinct[Impl] = ()
    """One that has the all-reduce alone gives that curve alone. Where not given the backend's, and
    on CPUs that share memory this as well."""
    max_bytes: Annotated[StrictInt, Field(ge=SMALLEST_MESSAGE_BYTES, le=LARGEST_MESSAGE_BYTES)] = (
        1 << 24
    )
    """Of the largest message; the smallest has 1 KiB, and each twice as many as the one before."""
    dtype: Dtype | None = None
    """float32 on CPUs, bfloat16 on GPUs, where not given."""
    products: ProductGrid | None = None
    """Some that take the device long enough to be told from its launch, where not given."""
    copied_bytes: Distinct[Annotated[StrictInt, Field(ge=1 << 10, le=LARGEST_COPY_BYTES)]] = ()
    """Of the arrays whose copies tell the memory's bandwidth; one beyond the caches where not
    given. Of several the largest tells it."""
    replicates: StrictInt = Field(default=2, ge=1, le=50)
    time_s: Annotated[float, Strict(), Field(gt=0, le=24 * 3600)] = TIME_S
    """Of all probes together, starts included: each is sampled for its share of it at most."""
    sampling: Sampling = Sampling(max_time_s=0.1, min_steps=5)

    @model_validator(mode="after")
    def _names_each_degree_once(self) -> Self:
        if len(set(self.tp_degree)) < len(self.tp_degree):
            raise ValueError("tp_degree names a value twice; each once is enough")
        return self

    def combinations_by_field(self, products: ProductGrid) -> dict[str, int]:
        """How many each of its fields asks for, by arithmetic: nothing is expanded."""
        num_sizes = (self.max_bytes // SMALLEST_MESSAGE_BYTES).bit_length()
        of_a_degree = {
            "/collectives": len(self.collective_impl) * len(self.collectives) * num_sizes,
            "/products/widths": len(ROWS) * len(products.widths) ** 2,
            "/copied_bytes": len(self.copied_bytes),
        }
        return {field: len(self.tp_degree) * count for field, count in of_a_degree.items()}

    def probes(self, *, dtype: Dtype, products: ProductGrid) -> "Probes":
        """Every probe of a spec that says which degrees, implementations and copies it is of.

        Each once, however often and under however many names the spec asks for it.
        """
        named = chain(
            self._collectives(dtype), self._products(dtype, products), self._copies(dtype)
        )
        return Probes(points=tuple(dict.fromkeys(named)))

    def _collectives(self, dtype: Dtype) -> Iterator[Probe]:
        for degree, impl, op in product(self.tp_degree, self.collective_impl, self.collectives):
            if degree == 1 or not _runs(impl, op, degree=degree, dtype=dtype):
                continue
            for size in _sizes(self.max_bytes, step=degree * dtype.num_bytes):
                yield CollectiveProbe(
                    op=op, message_bytes=size, tp_degree=degree, dtype=dtype, collective_impl=impl
                )

    def _products(self, dtype: Dtype, grid: ProductGrid) -> Iterator[Probe]:
        for degree, m, n, k in product(self.tp_degree, ROWS, grid.widths, grid.widths):
            probe = GemmProbe(m=m, n=n, k=k, tp_degree=degree, dtype=dtype)
            if probe.flops <= grid.largest_gflop * 1e9:
                yield probe

    def _copies(self, dtype: Dtype) -> Iterator[Probe]:
        for degree, size in product(self.tp_degree, self.copied_bytes):
            whole = size - size % dtype.num_bytes
            yield CopyProbe(copied_bytes=whole, tp_degree=degree, dtype=dtype)


AnySweepSpec = Annotated[SweepSpec | CalibrationSpec, Field(union_mode="left_to_right")]
"""What a sweep may be of."""


class Probes(Frozen):
    """What a calibration comes to: as an expansion of a sweep, of which nothing is rejected."""

    points: tuple[Probe, ...]

    @property
    def trials(self) -> Sequence[tuple[Probe, ...]]:
        """Each by itself."""
        return [(point,) for point in self.points]

    @property
    def rejected(self) -> tuple[Rejection, ...]:
        """None: what no device can run is not asked for."""
        return ()

    @property
    def is_paired(self) -> bool:
        """Never."""
        return False


def _runs(impl: CollectiveImpl, op: Collective, *, degree: int, dtype: Dtype) -> bool:
    if impl is CollectiveImpl.BACKEND:
        return True
    if op is not Collective.ALL_REDUCE:
        return False
    return impl not in SYMMETRIC or (degree in SYMMETRIC_DEGREES and dtype in SYMMETRIC_DTYPES)


def _sizes(largest: int, *, step: int) -> Iterator[int]:
    """Powers of two, each rounded down to whole elements for every rank."""
    size = SMALLEST_MESSAGE_BYTES
    while size <= largest:
        yield size - size % step
        size *= 2
