"""Nodes against their peers, night by night. Shapes: N nodes of one class, C cases, T nights.

Times are positive; NaN where there is none. A residual is the logarithm of a node's time over its
peers' median for the same case and night, so that what a night does to all nodes cancels out.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.analysis.changepoints.noise import MAD_TO_SIGMA
from service.analysis.changepoints.robust import Values

Flags = NDArray[np.bool_]

FEWEST_PEERS = 5
SMALLEST_NOISE = 0.005
"""Of residuals: peers that agree better than this do so by chance."""
LARGEST_Z, LARGEST_EFFECT = 3.5, 0.03
NIGHTS, NIGHTS_OF_THEM = 5, 3
AT_ONCE = 0.10
FLAKY_EFFECT, FLAKY_SHARE = 0.04, 0.05
"""A node is flaky where more than this share of its results is this much above its peers'."""

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


def flaky(residuals_NCT: Values) -> Flags:
    """Of each node: whether too many of its results are far above its peers', here and there.

    A node that became slow is not flaky: residuals are taken from their own neighbourhood's median.
    """
    half = NEIGHBOURHOOD // 2
    padded = np.pad(residuals_NCT, ((0, 0), (0, 0), (half, half)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, NEIGHBOURHOOD, axis=2)
    own = residuals_NCT - _median(windows, axis=3)
    known = np.sum(~np.isnan(own), axis=(1, 2))
    above = np.sum(own > np.log1p(FLAKY_EFFECT), axis=(1, 2))
    return np.asarray(above > FLAKY_SHARE * np.maximum(known, 1))


def missing_since(times_NCT: Values) -> tuple[int | None, ...]:
    """Of each node: the first of the newest nights that it has no result on; None where it has."""
    num_nodes, _, num_nights = times_NCT.shape
    nights = [np.flatnonzero((~np.isnan(times_NCT[i])).any(axis=0)) for i in range(num_nodes)]
    since = [int(known[-1]) + 1 if known.size else 0 for known in nights]
    return tuple(None if night == num_nights else night for night in since)


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
