"""Tier 2: changes of level that are confirmed.

A generous partition proposes places; each is then tested on the nights around it, up to the next
place on either side, and the weakest is given up until all that are left hold. So a small change
after a large one is judged by the nights between them and not by a spread that both share.
"""

from dataclasses import dataclass

import numpy as np

from service.analysis.changepoints.noise import autocorrelation
from service.analysis.changepoints.parameters import Parameters
from service.analysis.changepoints.robust import Values, median
from service.analysis.changepoints.segmentation import optimal_partition
from service.analysis.changepoints.series import Series
from service.analysis.changepoints.significance import likeliest_step, superiority
from service.analysis.changepoints.spikes import Filtered

SMALLEST_SIZE = 1e-300
"""Of values that are divided by; less is nothing."""
LARGEST_LOG = 300.0
MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Change:
    """One confirmed change; places count the nights that have a value."""

    place: int
    """First night of the new level."""
    p: float
    before: float
    after: float
    """Median levels in the series' unit, without spikes."""
    num_before: int
    num_after: int
    """Nights that it was judged by, spikes left out."""
    superiority: float
    """Share of pairs of nights, one from each side, that agree with it."""

    @property
    def is_rise(self) -> bool:
        """Whether the new level is the higher one."""
        return self.after > self.before


@dataclass(frozen=True, slots=True)
class Regimes:
    """What is left after pruning."""

    changes: tuple[Change, ...]
    autocorrelation: float

    @property
    def starts(self) -> tuple[int, ...]:
        """First nights of the second and later regimes."""
        return tuple(change.place for change in self.changes)


def confirmed_changes(series: Series, filtered: Filtered, parameters: Parameters) -> Regimes:
    """Propose, test, prune; again while the noise, judged by what is left, changes the answer."""
    places = optimal_partition(
        filtered.values,
        penalty=parameters.proposal_penalty * float(np.log(len(series))) * filtered.spread**2,
        smallest=parameters.smallest_segment,
        longest=parameters.longest_segment,
    )
    for _ in range(MOST_ROUNDS):
        rho = autocorrelation(filtered.values, places, largest=parameters.largest_autocorrelation)
        changes = _Judge(series, filtered, parameters, rho).prune(places)
        regimes = Regimes(changes=changes, autocorrelation=rho)
        if regimes.starts == places:
            break
        places = regimes.starts
    return regimes


class _Judge:
    """Tests proposed changes under one autocorrelation, none twice."""

    def __init__(
        self, series: Series, filtered: Filtered, parameters: Parameters, rho: float
    ) -> None:
        self._series = series
        self._filtered = filtered
        self._parameters = parameters
        self._rho = rho
        self._known: dict[tuple[int, int, int], Change] = {}

    def prune(self, places: tuple[int, ...]) -> tuple[Change, ...]:
        """Give up the weakest until all hold. Each test may move its change a little."""
        while True:
            changes: list[Change] = []
            for place, end in zip(places, (*places, len(self._series))[1:], strict=True):
                start = changes[-1].place if changes else 0
                changes.append(self._tested(start, place, end))
            weakness = [self._weakness(change) for change in changes]
            if not any(weakness):
                return tuple(changes)
            del changes[int(np.argmax(weakness))]
            places = tuple(change.place for change in changes)

    def _tested(self, start: int, place: int, end: int) -> Change:
        """Test the likeliest change around a place, between its neighbours."""
        reach = self._parameters.nights_per_side
        stretch = max(start, place - reach), place, min(end, place + reach)
        if stretch not in self._known:
            self._known[stretch] = self._test(stretch[0], stretch[2])
        return self._known[stretch]

    def _test(self, start: int, end: int) -> Change:
        values, clipped = self._of_size_one(start, end)
        step = likeliest_step(
            values,
            rho=self._rho,
            smallest=self._parameters.smallest_segment,
            surplus=float(np.square(clipped - values).sum()),
        )
        place = start + step.at
        before, after = self._plain(start, place), self._plain(place, end)
        return Change(
            place=place,
            p=step.p,
            before=median(before),
            after=median(after),
            num_before=before.size,
            num_after=after.size,
            superiority=superiority(before, after),
        )

    def _of_size_one(self, start: int, end: int) -> tuple[Values, Values]:
        """The values themselves, not their logarithms: halfway between levels is then halfway."""
        values = self._filtered.values[start:end]
        clipped = self._filtered.clipped[start:end]
        if self._series.is_positive:
            largest = values.max()
            return np.exp(values - largest), np.exp(np.minimum(clipped - largest, LARGEST_LOG))
        size = max(float(np.abs(values).max()), SMALLEST_SIZE)
        return values / size, clipped / size

    def _plain(self, start: int, end: int) -> Values:
        return self._series.raw[start:end][~self._filtered.is_spike[start:end]]

    def _weakness(self, change: Change) -> float:
        """0 where the change holds; more, the less there is to it."""
        parameters = self._parameters
        if change.p > parameters.largest_p:
            return change.p
        if self._series.is_positive:
            least = parameters.smallest_relative * change.before
        else:
            spread = self._filtered.spread * self._series.size
            least = parameters.smallest_in_noise * spread
        is_large = abs(change.after - change.before) >= max(least, parameters.smallest_absolute)
        holds = is_large and change.superiority >= parameters.least_superiority
        return 0.0 if holds else parameters.largest_p
