from service.cli.wire.base import Wire


class ProbeSpec(Wire):
    """What a probe measures; of its kinds each has some of the fields."""

    kind: str
    tp_degree: int
    op: str = ""
    collective_impl: str = "backend"
    message_bytes: int | None = None
    copied_bytes: int | None = None
    m: int | None = None
    n: int | None = None
    k: int | None = None

    @property
    def label(self) -> str:
        """In a few words."""
        among = f"among {self.tp_degree}"
        if self.message_bytes is not None:
            impl = "" if self.collective_impl == "backend" else f" by {self.collective_impl}"
            return f"{self.op}{impl} of {self.message_bytes} bytes {among}"
        if self.copied_bytes is not None:
            return f"copy of {self.copied_bytes} bytes {among}"
        return f"product {self.m} x {self.n} x {self.k} {among}"


class Probe(Wire):
    """A probe of a calibration, and what became of its trials."""

    spec: ProbeSpec
    counts: dict[str, int]

    @property
    def num_readings(self) -> int:
        """Trials that measured it."""
        return self.counts.get("succeeded", 0)

    @property
    def is_cut(self) -> bool:
        """Whether a trial of it was left out."""
        return self.counts.get("cancelled", 0) > 0
