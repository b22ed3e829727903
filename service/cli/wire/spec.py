from service.cli.wire.base import Wire


class Model(Wire):
    """The shape that a point measured."""

    name: str = ""
    hidden_size: int

    @property
    def label(self) -> str:
        """Name, or the width where it has none."""
        return self.name or f"hidden {self.hidden_size}"


class Spec(Wire):
    """A point's combination of axis values."""

    model: Model
    block: str
    phase: str
    tp_degree: int
    batch: int
    seq: int
    dtype: str = ""
    arrangement: str = "column_row"
    collective_impl: str = "backend"
    overlap: str = "none"
    launch: str = "eager"

    @property
    def label(self) -> str:
        """The point in a few words, which tell it from any other of its sweep."""
        extent = f"batch {self.batch}" + (f" seq {self.seq}" if self.seq != 1 else "")
        point = f"{self.model.label} {self.block} {self.phase} tp {self.tp_degree} {extent}"
        return ", ".join((point, *self.variant))

    @property
    def variant(self) -> tuple[str, ...]:
        """How it differs from the usual way to run it; what has its usual value is left out."""
        words = (
            "" if self.dtype == "float32" else self.dtype,
            "" if self.arrangement == "column_row" else self.arrangement,
            "" if self.collective_impl == "backend" else self.collective_impl,
            "" if self.overlap == "none" else f"overlap {self.overlap}",
            "" if self.launch == "eager" else self.launch,
        )
        return tuple(filter(None, words))
