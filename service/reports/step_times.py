"""Step times of one side of a comparison as the analysis takes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby
from typing import Self

import numpy as np

from service.analysis.interval import Values
from service.errors import InvalidRequestError
from service.reports.matching import Trials
from service.store.timed import Timed

MOST_CELLS = 5_000_000
"""Points times replicates of one side that are held against one another at once."""


def _step_time(trial: Timed) -> float:
    return trial.step_time_us


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Times of one side's points."""

    values: Values
    """A row for each point, a column for each replicate; NaN where there is none."""
    sweeps: tuple[slice, ...]
    """Columns of each sweep."""

    @classmethod
    def of(cls, rows: Sequence[Trials], time: Callable[[Timed], float] = _step_time) -> Self:
        """InvalidRequestError for more than can be compared at once."""
        replicates = sorted({(t.sweep_id, t.replicate) for t in chain.from_iterable(rows)})
        if len(rows) * len(replicates) > MOST_CELLS:
            raise InvalidRequestError(
                f"{len(rows)} points over {len(replicates)} replicates are too many to compare at "
                "once; narrow both sides, as by model: or since:"
            )
        columns = {replicate: column for column, replicate in enumerate(replicates)}
        times = np.full((len(rows), len(columns)), np.nan)
        for row, trials in enumerate(rows):
            for trial in trials:
                times[row, columns[trial.sweep_id, trial.replicate]] = time(trial)
        return cls(times, _runs([sweep_id for sweep_id, _ in replicates]))

    @property
    def medians(self) -> list[float]:
        """Of each point."""
        if not self.values.size:
            return []
        medians: list[float] = np.nanmedian(self.values, axis=1).tolist()
        return medians


def _runs(names: Sequence[str]) -> tuple[slice, ...]:
    """Where each name stands in a sorted list."""
    sizes = [len(list(group)) for _, group in groupby(names)]
    ends = list(accumulate(sizes))
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))
