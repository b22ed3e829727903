"""How far values lie apart."""

from collections.abc import Sequence
from math import fsum, sqrt


def standard_deviation(values: Sequence[float]) -> float:
    """Of a sample of at least two, right but for its last bit, which no order of them changes.

    Exactly 0 of equal values. `statistics.stdev` rounds once, and for that goes by fractions: 20
    times as long, of which a page over hundreds of results would spend a fifth of its time.
    """
    least, n = min(values), len(values)
    from_least = [value - least for value in values]
    centre = fsum(from_least) / n
    return sqrt(fsum((one - centre) * (one - centre) for one in from_least) / (n - 1))
