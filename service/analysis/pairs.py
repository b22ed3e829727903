"""Which of two points that took turns in one group is faster, and which part of the step makes it.

The unit is the group, one set of processes: each gives one ratio, second point over first, for the
step and for each part of it, the median over twin steps (`service.analysis.turns`). What slows the
whole group down, or a moment of it, falls on both points and drops out, so that ratios of groups
spread far less than their times. Over groups the interval is that of any other figure, Student's t
on the logarithms below ten.

A part is called faster or slower only where its interval clears the tolerance *and* it stays among
the findings when at most FALSE_CLAIMS of them may be false (Benjamini and Hochberg 1995), counted
over all parts of all pairs that are judged together. Where nothing differs, that is also the chance
of a single false call among all of them. "Same" needs the whole interval within the tolerance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, log1p, sqrt
from statistics import fmean

import numpy as np
from scipy.special import stdtr

from service.analysis.comparison import LARGEST_DETECTABLE, Verdict, adjust, claimed, verdict
from service.analysis.interval import Estimate, errors_to_detect, estimate
from service.analysis.spread import standard_deviation
from service.analysis.summary import TrialSummary
from service.analysis.turns import TurnRatios, in_step

DEFAULT_PAIR_TOLERANCE = 0.02
"""Turns within a group are compared more finely than groups with one another."""

FALSE_CLAIMS = 0.01
STEP, COMPUTE, EXPOSED = "step_time", "compute", "exposed_communication"
SMALLEST_RATIO = 0.01
"""Exposed communication is a difference, which noise can put anywhere."""

Groups = Sequence[tuple[TrialSummary, TrialSummary]]
"""First and second point of one pair, in each group that measured both."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the step over the groups of a pair."""

    name: str
    """`step_time`, `compute`, `exposed_communication`, or a collective's operation and place."""
    ratio: Estimate
    """Second over first; below 1 is faster. Of exposed communication, which may be 0 or less: 1
    plus what it changed by over the first point's step."""
    p: float | None
    """Of a change beyond the tolerance, after correction for the number of parts."""
    detectable: float | None
    """Relative change that these groups would have shown with 95 % probability."""
    verdict: Verdict


def judge_pairs(
    pairs: Sequence[Groups], *, tolerance: float, rng: np.random.Generator
) -> tuple[tuple[Part, ...], ...]:
    """Judge pairs, each measured in at least one group. `rng` is for intervals from ten groups."""
    ratios = [_by_part(groups) for groups in pairs]
    num_parts = sum(map(len, ratios))
    tests = [
        _test(values, tolerance, num_parts=num_parts)
        for parts in ratios
        for values in parts.values()
    ]
    adjusted = iter(adjust(np.array([test.p for test in tests])).tolist())
    each = iter(tests)
    return tuple(
        tuple(
            _part(name, values, next(each), next(adjusted), tolerance=tolerance, rng=rng)
            for name, values in parts.items()
        )
        for parts in ratios
    )


def ratios_of(first: TrialSummary, second: TrialSummary) -> dict[str, float]:
    """Ratio of each part that both points have, in one group; a rank alone has the step only."""
    turns = second.turns or _of_medians(first, second)
    ratios = {STEP: turns.step_time}
    if turns.compute is None:
        return ratios
    ratios[COMPUTE] = turns.compute
    # Of a difference there is no ratio of steps, but what its two terms changed by.
    change_us = (turns.step_time - 1) * first.step_time_us
    change_us -= (turns.compute - 1) * first.compute_time_us
    ratios[EXPOSED] = max(1 + change_us / first.step_time_us, SMALLEST_RATIO)
    return ratios | turns.wires


def _of_medians(first: TrialSummary, second: TrialSummary) -> TurnRatios:
    """What is left of pairs that were stored without the ratios of their turns."""
    before, after = _wires_us(first), _wires_us(second)
    is_alone = all(one.compute_time_us == one.step_time_us for one in (first, second))
    return TurnRatios(
        step_time=second.step_time_us / first.step_time_us,
        compute=None if is_alone else second.compute_time_us / first.compute_time_us,
        wires={name: after[name] / before[name] for name in before if name in after},
    )


def _wires_us(summary: TrialSummary) -> dict[str, float]:
    named = in_step(summary.collectives)
    return {name: item.time_us for name, item in named.items() if item.time_us > 0}


def _by_part(groups: Groups) -> Mapping[str, list[float]]:
    """Ratios of each part over the groups that have it, the step's first."""
    ratios: dict[str, list[float]] = {}
    for first, second in groups:
        for name, ratio in ratios_of(first, second).items():
            ratios.setdefault(name, []).append(ratio)
    return ratios


@dataclass(frozen=True, slots=True)
class _Test:
    p: float
    """NaN where one group cannot tell."""
    detectable: float | None


def _test(values: Sequence[float], tolerance: float, *, num_parts: int) -> _Test:
    """Student's t on the logarithms: of the change being within the tolerance, two-sided.

    The detectable change is one that comes alone among all the parts, where the correction for
    their number asks most of it.
    """
    n = len(values)
    if n == 1:
        return _Test(p=float("nan"), detectable=None)
    logs = [log(value) for value in values]
    centre, error = fmean(logs), max(standard_deviation(logs) / sqrt(n), 1e-12)
    beyond = max(centre - log1p(tolerance), log1p(-tolerance) - centre)
    p = min(1.0, 2 * float(stdtr(n - 1, -beyond / error)))
    reach = float(errors_to_detect(FALSE_CLAIMS / 2 / num_parts, np.array([n - 1.0]))[0])
    detectable = log1p(tolerance) + reach * error
    return _Test(p=p, detectable=exp(detectable) - 1 if detectable < LARGEST_DETECTABLE else None)


def _part(
    name: str,
    values: Sequence[float],
    test: _Test,
    p: float,
    *,
    tolerance: float,
    rng: np.random.Generator,
) -> Part:
    ratio = estimate(values, rng=rng)
    found, known = Verdict.INCONCLUSIVE, None
    if ratio.low is not None and ratio.high is not None:
        within = verdict(ratio.low, ratio.high, tolerance=tolerance)
        known, found = p, claimed(within, p, most_false=FALSE_CLAIMS)
    return Part(name=name, ratio=ratio, p=known, detectable=test.detectable, verdict=found)
