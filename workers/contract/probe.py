"""What calibrates a device: one collective, matrix product or copy, alone, outside of any block."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StrictInt

from workers.contract.axes import Collective, CollectiveImpl, Dtype, Kind, Launch
from workers.contract.frozen import Frozen
from workers.contract.point import LARGEST_TP_DEGREE, METHOD_VERSION, PointSpec, key_of

LARGEST_MESSAGE_BYTES = 1 << 32
LARGEST_PRODUCT_EXTENT = 1 << 17
LARGEST_COPY_BYTES = 1 << 34

Extent = Annotated[StrictInt, Field(ge=1, le=LARGEST_PRODUCT_EXTENT)]


class _Probe(Frozen):
    """What every probe has, and what it shares with a point of one layer."""

    kind: Kind
    tp_degree: StrictInt = Field(ge=1, le=LARGEST_TP_DEGREE)
    dtype: Dtype
    collective_impl: CollectiveImpl = CollectiveImpl.BACKEND

    @property
    def launch(self) -> Launch:
        """One kernel has nothing to record."""
        return Launch.EAGER

    @property
    def num_layers(self) -> int:
        """All ranks do the same at once, as in one layer."""
        return 1

    @property
    def identity(self) -> dict[str, JsonValue]:
        """All that `spec_key` is a hash of; a field at its default is left out."""
        identity: dict[str, JsonValue] = self.model_dump(mode="json", exclude_defaults=True)
        return identity | {"kind": self.kind.value, "method_version": METHOD_VERSION}

    @property
    def spec_key(self) -> str:
        """Identity of the probe along time."""
        return key_of(self.identity)


class CollectiveProbe(_Probe):
    """One collective among tp_degree ranks, as nccl-tests runs it."""

    kind: Literal[Kind.COLLECTIVE] = Kind.COLLECTIVE
    op: Collective
    message_bytes: StrictInt = Field(ge=1, le=LARGEST_MESSAGE_BYTES)
    """Of the total array over all ranks; whole elements for each of them."""


class GemmProbe(_Probe):
    """x_MK @ w_KN on each of tp_degree ranks at the same time: they may share memory or power."""

    kind: Literal[Kind.GEMM] = Kind.GEMM
    m: Extent
    n: Extent
    k: Extent

    @property
    def flops(self) -> int:
        """Of one rank; 2 for each multiply-add."""
        return 2 * self.m * self.n * self.k

    @property
    def moved_bytes(self) -> int:
        """Of one rank: both operands read once, the product written once."""
        return (self.m * self.k + self.k * self.n + self.m * self.n) * self.dtype.num_bytes


class CopyProbe(_Probe):
    """One array copied to another on each of tp_degree ranks at the same time: memory alone."""

    kind: Literal[Kind.COPY] = Kind.COPY
    copied_bytes: StrictInt = Field(ge=1 << 10, le=LARGEST_COPY_BYTES)
    """Of the one array; whole elements."""

    @property
    def moved_bytes(self) -> int:
        """Of one rank, as STREAM counts a copy: each byte read once and written once.

        A processor that fetches a line before it overwrites it moves half as much again.
        """
        return 2 * self.copied_bytes


Probe = CollectiveProbe | GemmProbe | CopyProbe
Measurable = Annotated[
    PointSpec | CollectiveProbe | GemmProbe | CopyProbe, Field(discriminator="kind")
]
"""What one trial can be of."""
