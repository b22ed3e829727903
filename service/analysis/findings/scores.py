"""Nodes against their peers, night by night. Shapes: N nodes of one class, C cases, T nights.

Times are positive; NaN where there is none. A residual is the logarithm of a node's time over its
peers' median for the same case and night, so that what a night does to all nodes cancels out.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from service.analysis.changepoints.noise import MAD_TO_SIGMA
from service.analysis.changepoints.robust import Values

Flags = NDArray[np.bool_]

FEWEST_PEERS = 5
"""Nodes with a result, itself among them, whose median a node is held against."""
SMALLEST_NOISE = 0.005
"""Of residuals: peers that agree better than this do so by chance."""
LARGEST_Z, LARGEST_EFFECT = 3.5, 0.03
"""Beyond both a node is off for a night: robust standard deviations, and share of the time."""
NIGHTS, NIGHTS_OF_THEM = 5, 3
"""It stands out where it was off on so many of the last nights,"""
AT_ONCE = 0.10
"""or by this share of the time on the night itself."""
FLAKY_EFFECT, FLAKY_SHARE, FEWEST_FLAKY_NIGHTS = 0.04, 0.05, 3
"""A node is flaky where more than this share of its results, on so many nights, is this much above
its peers'."""
LARGEST_FLAKY_P = 1e-3
"""And where the others, so many as they are, are too seldom so for that to be chance."""

PAST_NIGHTS, FEWEST_PAST = 20, 6
"""How far back a node without peers is held against itself."""

NEIGHBOURHOOD = 7
"""Nights about a result, its own among them."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Each node's standing, N by T; NaN where it has no result, or too few peers have one."""

    effect: Values
    """Median residual over cases: 0.05 is about 5 % slower than its peers."""
    z: Values
    """The same in robust standard deviations over peers."""

    def stands_out(self) -> Flags:
        """N by T: by both measures on 3 of the last 5 nights, or by 10 % on the night itself."""
        tonight = (np.abs(self.z) > LARGEST_Z) & (np.abs(self.effect) > LARGEST_EFFECT)
        padded = np.pad(tonight, ((0, 0), (NIGHTS - 1, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, NIGHTS, axis=1)
        lasting = tonight & (windows.sum(axis=2) >= NIGHTS_OF_THEM)
        return np.asarray(lasting | (np.abs(self.effect) > AT_ONCE))


@dataclass(frozen=True, slots=True)
class Unsteadiness:
    """Results of each node that are far above the nights around them."""

    excess: Values
    """Each residual over the median of its neighbourhood, N by C by T."""
    p: Values
    """Chance of as many wild results, were the node as its peers are; N, NaN without peers."""

    @property
    def is_wild(self) -> Flags:
        """N by C by T."""
        return np.asarray(self.excess > np.log1p(FLAKY_EFFECT))

    def is_flaky(self) -> Flags:
        """Of each node: whether too many of its results are wild, here and there."""
        known = np.sum(~np.isnan(self.excess), axis=(1, 2))
        share = self.is_wild.sum(axis=(1, 2)) / np.maximum(known, 1)
        num_nights = self.is_wild.any(axis=1).sum(axis=1)
        is_chance = self.p > LARGEST_FLAKY_P
        enough = (share > FLAKY_SHARE) & (num_nights >= FEWEST_FLAKY_NIGHTS)
        return np.asarray(enough & ~is_chance)


def residuals(times_NCT: Values) -> Values:
    """Logarithm of each time over its peers' median; NaN where there are too few peers."""
    logs = np.log(times_NCT)
    left = logs - _median(logs, axis=0)[None]
    few = np.sum(~np.isnan(logs), axis=0) < FEWEST_PEERS
    left[:, few] = np.nan
    return np.asarray(left)


def scores(residuals_NCT: Values, cases: Sequence[int]) -> Scores:
    """Score nodes over some cases: all for the node's score, communication for its links'."""
    chosen = residuals_NCT[:, list(cases)]
    spread = MAD_TO_SIGMA * _median(np.abs(chosen), axis=0)
    z = chosen / np.maximum(spread, SMALLEST_NOISE)[None]
    return Scores(effect=_median(chosen, axis=1), z=_median(z, axis=1))


def past_residuals(times_NCT: Values) -> Values:
    """Logarithm of each time over the node's own median of the nights before."""
    logs = np.log(times_NCT)
    return np.asarray(logs - _median(_past(logs), axis=3))


def past_scores(residuals_NCT: Values, cases: Sequence[int]) -> Scores:
    """Score nodes that have too few peers; a change that lasts fades as it becomes their past."""
    chosen = residuals_NCT[:, list(cases)]
    spread = MAD_TO_SIGMA * _median(np.abs(_past(chosen)), axis=3)
    z = chosen / np.maximum(spread, SMALLEST_NOISE)
    return Scores(effect=_median(chosen, axis=1), z=_median(z, axis=1))


def unsteadiness(residuals_NCT: Values) -> Unsteadiness:
    """Hold each result against the nights around it, so that a node that became slow is steady."""
    half = NEIGHBOURHOOD // 2
    padded = np.pad(residuals_NCT, ((0, 0), (0, 0), (half, half)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, NEIGHBOURHOOD, axis=2)
    excess = residuals_NCT - _median(windows, axis=3)
    num_nodes = excess.shape[0]
    known = np.sum(~np.isnan(excess), axis=(1, 2))
    wild = np.sum(excess > np.log1p(FLAKY_EFFECT), axis=(1, 2))
    of_others = (wild.sum() - wild + 1) / (known.sum() - known + 2)
    p = np.minimum(num_nodes * bdtrc(wild - 1, known, of_others), 1.0)
    return Unsteadiness(
        excess=excess, p=p if num_nodes >= FEWEST_PEERS else np.full_like(p, np.nan)
    )


def _past(values_NCT: Values) -> Values:
    """The nights before each night, N by C by T by nights; all NaN where too few are known."""
    padded = np.pad(values_NCT, ((0, 0), (0, 0), (PAST_NIGHTS, 0)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded[..., :-1], PAST_NIGHTS, axis=2)
    few = np.sum(~np.isnan(windows), axis=3) < FEWEST_PAST
    return np.where(few[..., None], np.nan, windows)


def _median(values: Values, *, axis: int) -> Values:
    """Of what is known; NaN where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all NaN is an answer here
        return np.asarray(np.nanmedian(values, axis=axis))
