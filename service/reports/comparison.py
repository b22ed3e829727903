"""Two sets of results side by side: what changed, how surely, and what else was different."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np
from sqlalchemy.orm import Session

from service.analysis.comparison import DEFAULT_TOLERANCE, Ratio, Verdict, compare
from service.analysis.interval import Values
from service.reports.compared import (
    ComparedPoint,
    ComparisonReport,
    RatioReport,
    SideReport,
    UnmatchedPoint,
)
from service.reports.control import slowdowns
from service.reports.covariates import differences
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured

Identity = tuple[str, str]
"""spec_key and hardware_key."""
Trials = Sequence[MeasuredTrial]


def between(
    session: Session,
    baseline: ResultFilter,
    candidate: ResultFilter,
    *,
    baseline_name: str,
    candidate_name: str,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ComparisonReport:
    """Compare what two filters find, such as two sweeps."""
    return report(
        measured(session, baseline),
        measured(session, candidate),
        baseline_name=baseline_name,
        candidate_name=candidate_name,
        tolerance=tolerance,
    )


def report(
    baseline: Trials,
    candidate: Trials,
    *,
    baseline_name: str,
    candidate_name: str,
    tolerance: float = DEFAULT_TOLERANCE,
) -> ComparisonReport:
    """Match points by spec and hardware, whatever they are called, and judge them. Pure."""
    old, new = _by_identity(baseline), _by_identity(candidate)
    matched = [identity for identity in old if identity in new]
    old_times = _times([old[identity] for identity in matched])
    new_times = _times([new[identity] for identity in matched])
    found = compare(
        old_times, new_times, tolerance=tolerance, normalised=_normalised(matched, old, new)
    )
    points = tuple(
        _compared(
            ratio, _side(old[identity], before), _side(new[identity], after), old[identity][0]
        )
        for identity, ratio, before, after in zip(
            matched, found.points, _medians(old_times), _medians(new_times), strict=True
        )
    )
    verdicts = Counter(point.verdict for point in points)
    counts = {verdict: verdicts[verdict] for verdict in Verdict}
    overall = None if found.overall is None else RatioReport.of(found.overall)
    return ComparisonReport(
        baseline=baseline_name,
        candidate=candidate_name,
        tolerance=tolerance,
        overall=overall,
        counts=counts,
        points=points,
        unmatched_baseline=_unmatched(old, new),
        unmatched_candidate=_unmatched(new, old),
        differences=differences(baseline, candidate),
        sentence=_sentence(overall, counts, tolerance=tolerance),
    )


def _by_identity(trials: Trials) -> dict[Identity, list[MeasuredTrial]]:
    grouped: dict[Identity, list[MeasuredTrial]] = {}
    for trial in trials:
        grouped.setdefault((trial.spec_key, trial.hardware_key), []).append(trial)
    return grouped


def _normalised(
    matched: Sequence[Identity],
    old: Mapping[Identity, Trials],
    new: Mapping[Identity, Trials],
) -> tuple[Values, Values]:
    """Step times of both sides as if the host had always been as quiet as at its quietest."""
    factors: dict[tuple[str, str], float] = {}
    for identity in matched:
        factors |= _slowdowns((*old[identity], *new[identity]))

    def of(trial: MeasuredTrial) -> float:
        return trial.summary.step_time_us / factors.get((trial.id, trial.point_id), np.nan)

    before, after = ([side[identity] for identity in matched] for side in (old, new))
    return _times(before, of), _times(after, of)


def _slowdowns(trials: Trials) -> dict[tuple[str, str], float]:
    """By trial and point, of one point on both sides; empty where their controls do not compare."""
    factors = slowdowns([trial.summary for trial in trials])
    if factors is None:
        return {}
    keys = [(trial.id, trial.point_id) for trial in trials]
    return dict(zip(keys, factors, strict=True))


def _step_time(trial: MeasuredTrial) -> float:
    return trial.summary.step_time_us


def _times(rows: Sequence[Trials], time: Callable[[MeasuredTrial], float] = _step_time) -> Values:
    """Step times, a row for each point and a column for each replicate; NaN where there is none."""
    replicates = {(trial.sweep_id, trial.replicate) for trial in chain.from_iterable(rows)}
    columns = {replicate: column for column, replicate in enumerate(sorted(replicates))}
    times = np.full((len(rows), len(columns)), np.nan)
    for row, trials in enumerate(rows):
        for trial in trials:
            times[row, columns[trial.sweep_id, trial.replicate]] = time(trial)
    return times


def _medians(times: Values) -> list[float]:
    medians: list[float] = np.nanmedian(times, axis=1).tolist() if times.size else []
    return medians


def _compared(
    ratio: Ratio, before: SideReport, after: SideReport, first: MeasuredTrial
) -> ComparedPoint:
    return ComparedPoint(
        **dict(RatioReport.of(ratio)),
        spec=first.spec,
        spec_key=first.spec_key,
        hardware_key=first.hardware_key,
        baseline=before,
        candidate=after,
        quality=tuple(sorted({*before.quality, *after.quality})),
    )


def _side(trials: Trials, step_time_us: float) -> SideReport:
    return SideReport(
        point_ids=tuple(dict.fromkeys(trial.point_id for trial in trials)),
        step_time_us=step_time_us,
        n=len(trials),
        quality=tuple(sorted({flag for trial in trials for flag in trial.quality})),
    )


def _unmatched(
    own: Mapping[Identity, Trials], other: Mapping[Identity, Trials]
) -> tuple[UnmatchedPoint, ...]:
    firsts = (trials[0] for identity, trials in own.items() if identity not in other)
    return tuple(
        UnmatchedPoint(
            point_id=first.point_id,
            spec=first.spec,
            spec_key=first.spec_key,
            hardware_key=first.hardware_key,
        )
        for first in firsts
    )


def _sentence(
    overall: RatioReport | None, counts: Mapping[Verdict, int], *, tolerance: float
) -> str:
    if overall is None:
        return "no point was measured on both sides on the same hardware: nothing to compare"
    known = ""
    if overall.ci_low is not None and overall.ci_high is not None:
        known = f" ({overall.ci_low:.3f} to {overall.ci_high:.3f})"
    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    total = sum(counts.values())
    return (
        f"{overall.verdict}: step time is {overall.ratio:.3f}{known} of the baseline's over "
        f"{total} {'point' if total == 1 else 'points'}: {parts} (tolerance {tolerance:.0%})"
        + _about_the_host(overall, tolerance=tolerance)
        + _what_could_be_found(overall)
    )


def _about_the_host(overall: RatioReport, *, tolerance: float) -> str:
    if overall.normalised_ratio is None:
        return "; without a control on both sides a change of the host may be part of it"
    host = overall.ratio / overall.normalised_ratio
    if 1 - tolerance <= host <= 1 + tolerance:
        return ""
    return f"; the host alone, as the control shows it, changed by a factor of {host:.2f}"


def _what_could_be_found(overall: RatioReport) -> str:
    if overall.verdict is not Verdict.INCONCLUSIVE or overall.detectable is None:
        return ""
    return f"; a change of {overall.detectable:.0%} would have been found"
