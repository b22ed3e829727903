"""Nights far from their neighbours (Hampel's filter). They stay visible, and move nothing."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.analysis.changepoints.noise import SMALLEST_SPREAD, spread_of_differences
from service.analysis.changepoints.parameters import Parameters
from service.analysis.changepoints.robust import Values

Mask = NDArray[np.bool_]

NEWEST = 2
"""Nights that nothing can be said of yet: a change of level looks the same at first."""
RECENT_NIGHTS = 30


@dataclass(frozen=True, slots=True)
class Filtered:
    """A series whose spikes are replaced by the median of their neighbourhood."""

    values: Values
    clipped: Values
    """Spikes as far from that median as the farthest that is none: their share in the noise."""
    is_spike: Mask
    spread: float
    """Robust standard deviation of a night."""


def without_spikes(values: Values, parameters: Parameters) -> Filtered:
    """Replace runs of nights that are few enough and far enough from their neighbours' median."""
    half = parameters.spike_window // 2
    spread = max(spread_of_differences(values), SMALLEST_SPREAD)
    if values.size <= parameters.spike_window:
        return Filtered(values, values, np.zeros(values.size, dtype=np.bool_), spread)
    padded = np.pad(values, half, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, parameters.spike_window)
    medians = np.partition(windows, half, axis=1)[:, half]
    limit = parameters.spike_z * spread
    is_far = np.abs(values - medians) > limit
    is_far[-NEWEST:] = False
    is_spike = _short_runs(is_far, longest=parameters.longest_spike)
    filtered = np.where(is_spike, medians, values)
    clipped = np.where(is_spike, np.clip(values, medians - limit, medians + limit), values)
    spread = max(spread_of_differences(filtered), SMALLEST_SPREAD)
    return Filtered(filtered, clipped, is_spike, spread)


def rising_rate(is_spike: Mask) -> float:
    """Chance of as many spikes among the newest nights, were they as likely as before.

    Hypergeometric; 1 where there are too few nights to tell.
    """
    total, all_spikes = is_spike.size, int(is_spike.sum())
    if total < 2 * RECENT_NIGHTS:
        return 1.0
    recent = int(is_spike[-RECENT_NIGHTS:].sum())
    ways = sum(
        math.comb(all_spikes, k) * math.comb(total - all_spikes, RECENT_NIGHTS - k)
        for k in range(recent, min(all_spikes, RECENT_NIGHTS) + 1)
    )
    return ways / math.comb(total, RECENT_NIGHTS)


def _short_runs(marked: Mask, *, longest: int) -> Mask:
    """Only the marks that stand in runs of at most `longest`."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marked, [False]))))
    short = np.zeros(marked.size, dtype=np.bool_)
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        short[start:end] = end - start <= longest
    return short
