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
    overlap: str = "none"

    @property
    def label(self) -> str:
        """The point in a few words."""
        extent = f"batch {self.batch}" + (f" seq {self.seq}" if self.seq != 1 else "")
        return f"{self.model.label} {self.block} {self.phase} tp {self.tp_degree} {extent}"
