from service.cli.wire.base import Wire


class Placement(Wire):
    """Time of one message."""

    time_us: float
    busbw_gb_per_s: float


class CurvePoint(Wire):
    """One message size."""

    message_bytes: int
    out_of_place: Placement | None = None
    in_place: Placement | None = None


class Doubt(Wire):
    """Message sizes that are slower than they should be."""

    low_bytes: int
    high_bytes: int
    reason: str
    kind: str = "configuration"

    @property
    def label(self) -> str:
        """What to do, where, and why."""
        what = "no judgement" if self.kind == "noise" else "check the configuration"
        return f"{what}: messages of {self.low_bytes} to {self.high_bytes} bytes: {self.reason}"


class Curve(Wire):
    """Times of one collective over message sizes."""

    hardware: str
    op: str
    collective_impl: str = "backend"
    dtype: str
    num_ranks: int
    num_nodes: int | None = None
    rows: tuple[CurvePoint, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def label(self) -> str:
        """Of what, among how many."""
        nodes = f" on {self.num_nodes} nodes" if self.num_nodes is not None else ""
        impl = "" if self.collective_impl == "backend" else f" by {self.collective_impl}"
        what = f"{self.op}{impl} of {self.dtype}"
        return f"{self.hardware}: {what} among {self.num_ranks} ranks{nodes}"


class SkippedRow(Wire):
    """A row of a file that was not taken."""

    line: int
    reason: str


class Import(Wire):
    """What a file gave."""

    num_new_curves: int
    curves: tuple[Curve, ...] = ()
    skipped: tuple[SkippedRow, ...] = ()
    warnings: tuple[str, ...] = ()
