from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.analysis.changepoints.robust import Values, median

Nights = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Series:
    """The nights that have a value, in order."""

    nights: Nights
    """Their places in what was given."""
    raw: Values
    scaled: Values
    """Logarithms where all values are positive, as a level's noise is in proportion to it."""
    is_positive: bool
    num_given: int
    """Nights, missing ones too."""

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Series":
        """Leave out missing values: None and NaN."""
        given = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        nights = np.flatnonzero(~np.isnan(given))
        return cls._at(nights, given[nights], num_given=given.size)

    def between(self, first: int, end: int) -> "Series":
        """Only the nights between two places, as they looked when no more was known."""
        num_given = int(self.nights[end - 1]) + 1
        return self._at(self.nights[first:end], self.raw[first:end], num_given=num_given)

    @classmethod
    def _at(cls, nights: Nights, raw: Values, *, num_given: int) -> "Series":
        is_positive = bool((raw > 0).all())
        return cls(
            nights=nights,
            raw=raw,
            scaled=_logs(raw) if is_positive else _of_size_one(raw),
            is_positive=is_positive,
            num_given=num_given,
        )

    @property
    def size(self) -> float:
        """The largest value's, which is 1 in a scaled series that is not positive."""
        return float(np.abs(self.raw).max(initial=0.0))

    def __len__(self) -> int:
        return self.raw.size


def _logs(raw: Values) -> Values:
    logs = np.log(raw)
    return logs - median(logs) if raw.size else raw


def _of_size_one(raw: Values) -> Values:
    return raw / (float(np.abs(raw).max()) or 1.0)
