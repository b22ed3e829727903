"""How far single readings of a curve lie off what they are readings of."""

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from service.analysis.costmodel.prediction import spread_of

FEWEST_REPEATED = 6
"""Sizes with several readings; of fewer the curve's own roughness tells."""
_QUANTILE = 1.645
"""Of a normal variable 90 % lie within so many standard deviations."""
_ROUGHNESS = 0.6745 * math.sqrt(6)
"""Median size of second differences of independent noise, in its standard deviations."""


def noise_of(readings: Mapping[int, Sequence[float]]) -> float:
    """Half width in log time that holds 90 % of readings around the median of their size.

    From trials of one size against one another; where too few sizes have several, from how rough
    the curve is from size to size, which a few steps in it do not change.
    """
    repeated = [times for times in readings.values() if len(times) > 1]
    if len(repeated) >= FEWEST_REPEATED:
        return spread_of(
            [abs(math.log(time / median(times))) for times in repeated for time in times]
        )
    logs = [math.log(min(readings[size])) for size in sorted(readings)]
    bends = np.abs(np.diff(logs, n=2))
    return _QUANTILE * float(np.median(bends)) / _ROUGHNESS if len(bends) else 0.0
