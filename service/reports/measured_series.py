"""One point over its batches, from trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from service.analysis.costmodel.curve import TimeCurve
from service.store.timed import Timed


@dataclass(frozen=True, slots=True)
class Series:
    """One point over its batches."""

    batches: Sequence[int]
    step: TimeCurve
    compute: TimeCurve

    @classmethod
    def of(cls, trials: Sequence[Timed], batches: Sequence[int]) -> Self:
        """Of trials at several batches."""
        origin = f"{len(trials)} trials of this point at batches {batches[0]} to {batches[-1]}"
        step = [(float(one.spec.batch), one.step_time_us) for one in trials]
        compute = [(float(one.spec.batch), one.compute_time_us) for one in trials]
        return cls(
            batches,
            TimeCurve.of(step, calibration=origin),
            TimeCurve.of(compute, calibration=origin),
        )
