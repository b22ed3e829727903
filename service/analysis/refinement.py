"""Which batch to measure next, so that a crossing is known more closely."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from statistics import fmean

from service.analysis.breakeven import Times
from service.analysis.crossing import isotonic
from workers.contract.point import PointSpec


@dataclass(frozen=True, slots=True)
class Timed:
    """One trial of a sweep."""

    spec: PointSpec
    replicate: int
    times: Times


Ladder = dict[int, dict[int, dict[int, Times]]]
"""One series: by tp_degree, batch and replicate."""


def next_points(trials: Iterable[Timed], *, rel_width: float) -> tuple[PointSpec, ...]:
    """Points that halve the bracket of every break-even of a sweep; none where all are narrow.

    Of both kinds: where compute overtakes communication, and where a degree beats the next smaller
    one, whose step at the new batch is then wanted as well.
    """
    ladders: dict[PointSpec, Ladder] = {}
    for trial in trials:
        series = trial.spec.model_copy(update={"batch": 1, "tp_degree": 1})
        by_batch = ladders.setdefault(series, {}).setdefault(trial.spec.tp_degree, {})
        by_batch.setdefault(trial.spec.batch, {})[trial.replicate] = trial.times
    wanted: dict[PointSpec, None] = {}
    for series, ladder in ladders.items():
        for degree, batch in _wanted(ladder, rel_width):
            if batch not in ladder[degree]:
                wanted[series.model_copy(update={"batch": batch, "tp_degree": degree})] = None
    return tuple(wanted)


def _wanted(ladder: Ladder, rel_width: float) -> Iterator[tuple[int, int]]:
    degrees = sorted(ladder)
    for degree in degrees[1:] if degrees[0] == 1 else degrees:
        own = ladder[degree]
        overtakes = {
            batch: fmean(one.log_compute_over_exposed for one in times.values())
            for batch, times in own.items()
        }
        if (batch := next_batch(overtakes, rel_width=rel_width)) is not None:
            yield degree, batch
        smaller = max((other for other in degrees if other < degree), default=None)
        if smaller is None:
            continue
        if (batch := next_batch(_gains(ladder[smaller], own), rel_width=rel_width)) is not None:
            yield degree, batch
            yield smaller, batch


def _gains(
    smaller: Mapping[int, Mapping[int, Times]], larger: Mapping[int, Mapping[int, Times]]
) -> dict[int, float]:
    """Logarithm of the step's ratio over replicates that measured both, by batch."""
    found = {}
    for batch in smaller.keys() & larger.keys():
        both = smaller[batch].keys() & larger[batch].keys()
        if both:
            found[batch] = fmean(
                log(smaller[batch][r].step_us / larger[batch][r].step_us) for r in both
            )
    return found


def next_batch(log_ratios: Mapping[int, float], *, rel_width: float) -> int | None:
    """Return the batch that halves the bracket of the crossing; None where nothing is gained.

    `log_ratios` are of the batches measured so far, means over replicates, above 0 from the
    crossing on. Halved is the logarithm, so a bracket of ratio r is as narrow as asked, right over
    left at most 1 + rel_width, after at most log2(log(r) / log(1 + rel_width)) steps, rounded up,
    or ends at two neighbouring whole numbers. A series that does not cross has no bracket.
    """
    batches = sorted(log_ratios)
    rising = isotonic([log_ratios[batch] for batch in batches])
    for (left, below), (right, above) in pairwise(zip(batches, rising, strict=True)):
        if below < 0 <= above:
            return _between(left, right) if right > left * (1 + rel_width) else None
    return None


def _between(left: int, right: int) -> int | None:
    """The whole number nearest to the geometric mean, apart from both."""
    if right - left < 2:  # noqa: PLR2004 - nothing lies between neighbours
        return None
    return min(max(round(sqrt(left * right)), left + 1), right - 1)
