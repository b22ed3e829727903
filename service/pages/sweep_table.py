"""Results of one grid as rows: sorted by any column, with what is of no interest left out."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from service.pages.sweep_charts import Grid
from service.reports.result import ResultReport


class Sorting(StrEnum):
    """Columns."""

    BATCH = "batch"
    TP_DEGREE = "tp_degree"
    STEP_TIME = "step_time"
    SPEED_UP = "speed_up"
    COMPUTE = "compute"
    EXPOSED = "exposed"
    SHARE = "share"
    TFLOP_PER_S = "tflop_per_s"
    REPLICATES = "replicates"

    @property
    def caption(self) -> str:
        """What stands above it."""
        titles = {Sorting.EXPOSED: "exposed comm.", Sorting.SHARE: "comm. share"}
        titles |= {Sorting.TFLOP_PER_S: "TFLOP/s", Sorting.SPEED_UP: "speed-up"}
        return titles.get(self, self.value.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Row:
    """One result beside its speed-up over tp_degree 1."""

    result: ResultReport
    speed_up: float | None


_BY: Final[dict[Sorting, Callable[[Row], float]]] = {
    Sorting.BATCH: lambda row: row.result.spec.batch,
    Sorting.TP_DEGREE: lambda row: row.result.spec.tp_degree,
    Sorting.STEP_TIME: lambda row: row.result.step_time_us.median,
    Sorting.SPEED_UP: lambda row: row.speed_up or 0,
    Sorting.COMPUTE: lambda row: row.result.compute_time_us,
    Sorting.EXPOSED: lambda row: row.result.exposed_communication_us,
    Sorting.SHARE: lambda row: row.result.communication_share,
    Sorting.TFLOP_PER_S: lambda row: row.result.tflop_per_s,
    Sorting.REPLICATES: lambda row: row.result.num_replicates,
}


def rows(grid: Grid, sorting: Sorting, *, is_descending: bool, only: str) -> list[Row]:
    """Rows in order; `only` keeps those that hold every word: a degree, a batch or a flag."""
    words = only.split()
    kept = [
        Row(result, grid.speed_up(place) if place[0] > 1 else None)
        for place, result in grid.results.items()
        if all(_holds(result, word) for word in words)
    ]
    kept.sort(key=lambda row: (row.result.spec.batch, row.result.spec.tp_degree))
    return sorted(kept, key=_BY[sorting], reverse=is_descending)


def _holds(result: ResultReport, word: str) -> bool:
    spec = result.spec
    named = {f"tp={spec.tp_degree}", f"batch={spec.batch}", str(spec.batch), str(spec.tp_degree)}
    return word in named or any(word in flag for flag in result.quality)
