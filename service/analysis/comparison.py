"""Whether the candidate is faster or slower than the baseline, for each point and over all.

The ratio is candidate over baseline step time; below 1 is faster. Its interval is Welch's t on the
logarithms of trial medians, the replicate being the unit. Over all points it is the geometric mean
of their ratios, and the unit is again the replicate: one replicate measures all points in one set
of processes, whose luck they share, so that more points do not make the overall interval narrower
than the number of replicates allows.

Many points are many chances to be wrong. A point is called faster or slower only where its interval
clears the tolerance *and* it stays among the findings when at most FALSE_CLAIMS of them may be
false (Benjamini and Hochberg 1995), counted over the points of one comparison. Where nothing has
changed, that is also the chance of a single false call in the whole comparison.

Spreads are not pooled over points, though that would find more: points of a replicate share its
luck, so their spreads agree by chance and a pooled one would look better known than it is.

Where the same trials measured both sides by turns, as those of a pair do, the unit is the ratio in
each trial, and the interval is Student's t on its logarithm: what slows a trial falls on both sides
and drops out, so that no control is needed to tell it.

"Same" needs the whole interval within the tolerance (two one-sided tests), so too little data gives
"inconclusive", never "same".

Two sweeps are two moments, and the host may differ between them in a way that all replicates of one
share, so that their spread does not show it. The control does: where both sides have one, steps are
also compared with the host's slowdown taken out (`service.analysis.control`), and the interval
reaches over both comparisons. Something is called faster or slower only where it is so as measured
and normalised: a host that changed, and a control that is too noisy to tell, both end in
"inconclusive".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np

from service.analysis.interval import CONFIDENCE, Values, errors_to_detect
from service.analysis.welch import Groups, Tests, over_both, paired_test, welch_test

Sides = tuple[Values, Values]
"""Baseline and candidate."""

DEFAULT_TOLERANCE = 0.05
"""Fresh process groups on one machine differ by a few percent, and three of them cannot confirm
less; a change below it seldom moves a choice of tp_degree."""

FALSE_CLAIMS = 0.03
"""Largest expected share of false ones among the points called faster or slower."""

LARGEST_DETECTABLE = 5.0
"""As a logarithm: beyond a factor of 150 nothing is promised."""


class Verdict(StrEnum):
    """What may be said about a ratio. `same` means equivalent within the tolerance."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Candidate over baseline, with what may be said about it."""

    value: float
    low: float | None
    high: float | None
    """95 % interval, of the times as measured and normalised; None where either side has one
    replicate only."""
    p: float | None
    """Of a change beyond the tolerance, over the points after correction for their number."""
    normalised: float | None
    """The ratio with the host's slowdown taken out; None without a control on both sides."""
    normalised_low: float | None
    normalised_high: float | None
    """The normalised ratio's own interval: what is to be known where the host may have changed."""
    detectable: float | None
    """Relative change that as many such replicates would show with 95 % probability."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every matched point in the order given, and all of them together (None without any)."""

    points: tuple[Ratio, ...]
    overall: Ratio | None


def verdict(low: float, high: float, *, tolerance: float) -> Verdict:
    """Judge the interval of candidate/baseline step time. Below 1 is faster."""
    if high < 1 - tolerance:
        return Verdict.FASTER
    if low > 1 + tolerance:
        return Verdict.SLOWER
    within = 1 - tolerance <= low and high <= 1 + tolerance
    return Verdict.SAME if within else Verdict.INCONCLUSIVE


def claimed(found: Verdict, p: float, *, most_false: float) -> Verdict:
    """The verdict, unless it is a change that is not among the findings by its adjusted p."""
    is_change = found in {Verdict.FASTER, Verdict.SLOWER}
    return Verdict.INCONCLUSIVE if is_change and p > most_false else found


def compare(
    baseline: Values,
    candidate: Values,
    *,
    tolerance: float,
    normalised: Sides | None = None,
    sweeps: tuple[Groups, Groups] | None = None,
    is_interleaved: bool = False,
) -> Comparison:
    """Compare step times: one row for each matched point, one column for each replicate.

    NaN where a replicate has no value; every row has at least one value on each side. `normalised`
    has the same times without the host's slowdown, and rows of NaN where that is not known.
    `sweeps` are the slices of columns that belong to one sweep, for each side. Where it
    `is_interleaved`, a column is one trial, which has values of the same rows on both sides.
    """
    if not len(baseline):
        return Comparison(points=(), overall=None)
    old, new = np.log(baseline), np.log(candidate)
    judge = paired_test if is_interleaved else welch_test
    test = partial(judge, tolerance=tolerance, sweeps=sweeps or ((), ()))
    each = test(old, new)
    overall = test(_by_replicate(old), _by_replicate(new))
    if normalised is not None:
        quiet_old, quiet_new = (np.log(times) for times in normalised)
        unknown = np.isnan(quiet_old).all(axis=1) | np.isnan(quiet_new).all(axis=1)
        known = np.asarray(~unknown)
        quiet = test(quiet_old[known], quiet_new[known])
        each = over_both(each, quiet, known)
        if known.all():
            means = _by_replicate(quiet_old), _by_replicate(quiet_new)
            overall = over_both(overall, test(*means), np.array([True]))
    total = _ratios(overall, overall.p, tolerance=tolerance)[0]
    return Comparison(points=_ratios(each, adjust(each.p), tolerance=tolerance), overall=total)


def adjust(p: Values) -> Values:
    """Benjamini and Hochberg's adjusted p-values; NaN (nothing could be tested) stays out."""
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested])]
    scaled = p[order] * tested.size / np.arange(1, tested.size + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted


def _by_replicate(values: Values) -> Values:
    """One row: the mean over points of each replicate.

    A replicate that lacks some points is placed by those it has against the other replicates'
    values of the same points, so that a missing slow point does not look like a fast replicate.
    """
    present = ~np.isnan(values)
    mean = np.nansum(values, axis=1) / present.sum(axis=1)
    counts = present.sum(axis=0)
    used = counts > 0
    effect = np.full(counts.shape, np.nan)
    effect[used] = np.nansum(values - mean[:, None], axis=0)[used] / counts[used]
    return np.asarray(mean.mean() + effect - np.nanmean(effect))[None, :]


def _ratios(tests: Tests, p: Values, *, tolerance: float) -> tuple[Ratio, ...]:
    logs = (tests.centre, tests.low, tests.high, *tests.normalised)
    rows: Sequence[tuple[float, ...]] = np.stack(
        (*(np.exp(each) for each in logs), p, _detectable(tests, tolerance)), axis=1
    ).tolist()
    return tuple(_ratio(row, tolerance=tolerance) for row in rows)


def _detectable(tests: Tests, tolerance: float) -> Values:
    """Change that would have been found, were it alone; NaN where none can be promised.

    It must clear the tolerance as measured and normalised, which may disagree about the centre.
    """
    num_tested = max(1, int(np.sum(~np.isnan(tests.p))))
    level = min((1 - CONFIDENCE) / 2, FALSE_CLAIMS / 2 / num_tested)
    reach = errors_to_detect(level, tests.freedom)
    apart = np.abs(np.nan_to_num(tests.normalised[0] - tests.centre))
    size = np.log1p(tolerance) + reach * tests.error + apart
    size[np.isnan(tests.p) | (size > LARGEST_DETECTABLE)] = np.nan
    return np.asarray(np.expm1(size))


def _ratio(row: Sequence[float], *, tolerance: float) -> Ratio:
    value, low, high, *others = row
    normalised, quiet_low, quiet_high, p, size = (None if np.isnan(x) else x for x in others)
    is_known = p is not None
    found = Verdict.INCONCLUSIVE
    if p is not None:
        found = claimed(verdict(low, high, tolerance=tolerance), p, most_false=FALSE_CLAIMS)
    return Ratio(
        value=value,
        low=low if is_known else None,
        high=high if is_known else None,
        p=p,
        normalised=normalised,
        normalised_low=quiet_low,
        normalised_high=quiet_high,
        detectable=size,
        verdict=found,
    )
