from service.cli.wire.base import Wire


class Product(Wire):
    """One matrix product."""

    m: int
    n: int
    k: int
    time_us: float
    tflop_per_s: float
    gb_per_s: float
    flop_per_byte: float


class Copy(Wire):
    """One array copied to another."""

    copied_bytes: int
    time_us: float
    gb_per_s: float


class Peaks(Wire):
    """What was published of the device."""

    name: str
    tflop_per_s: float
    memory_gb_per_s: float


class Roofline(Wire):
    """Of one device."""

    hardware: str
    dtype: str
    num_ranks: int
    tflop_per_s: float
    memory_gb_per_s: float | None = None
    ridge_flop_per_byte: float | None = None
    published: Peaks | None = None
    memory_basis: str | None = None
    products: tuple[Product, ...] = ()
    copies: tuple[Copy, ...] = ()

    @property
    def label(self) -> str:
        """Of what, and both roofs."""
        title = f"{self.hardware}: {self.dtype}, {self.num_ranks} at work: "
        title += f"{self.tflop_per_s:.3g} TFLOP/s"
        if self.memory_gb_per_s is not None and self.ridge_flop_per_byte is not None:
            title += f", {self.memory_gb_per_s:.3g} GB/s{self._basis}"
            title += f", ridge at {self.ridge_flop_per_byte:.2g} FLOP/byte"
        if self.published is not None:
            title += f" (published: {self.published.tflop_per_s:g} TFLOP/s, "
            title += f"{self.published.memory_gb_per_s:g} GB/s)"
        return title

    @property
    def _basis(self) -> str:
        return f" by {self.memory_basis.replace('_', ' ')}" if self.memory_basis else ""

    @property
    def roof_tflop_per_s(self) -> dict[float, float]:
        """By arithmetic intensity, what the lower of both roofs allows."""
        memory = self.memory_gb_per_s
        return {
            one.flop_per_byte: self.tflop_per_s
            if memory is None
            else min(self.tflop_per_s, one.flop_per_byte * memory / 1e3)
            for one in self.products
        }
