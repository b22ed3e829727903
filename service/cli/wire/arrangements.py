from service.cli.wire.base import Wire
from service.cli.wire.interval import Interval
from service.cli.wire.spec import Spec


class ArrangementCost(Wire):
    """What an arrangement costs by arithmetic."""

    arrangement: str
    num_collectives: dict[str, int]
    bus_bytes: int


class Arranged(Wire):
    """One measured arrangement."""

    cost: ArrangementCost
    kept_bytes: int
    why: str
    step_time_us: Interval
    exposed_communication_us: Interval
    peak_memory_bytes: int | None = None


class ArrangedBlock(Wire):
    """The arrangements of one block, the cheapest first."""

    spec: Spec
    arrangements: tuple[Arranged, ...]
    sentences: tuple[str, ...]

    @property
    def label(self) -> str:
        """The block, whatever its arrangement."""
        return self.spec.model_copy(update={"arrangement": "column_row"}).label
