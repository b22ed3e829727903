"""Which batch to measure next, so that a crossing is known more closely."""

from collections.abc import Mapping
from itertools import pairwise
from math import sqrt

from service.analysis.crossing import isotonic


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
