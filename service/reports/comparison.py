"""Two sets of results side by side: what changed, how surely, and what else was different."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np
from sqlalchemy.orm import Session

from service.analysis.comparison import DEFAULT_TOLERANCE, Comparison, Ratio, Verdict, compare
from service.analysis.interval import Values
from service.reports.compared import (
    ComparedPoint,
    ComparisonReport,
    Coverage,
    RatioReport,
    SideReport,
    UnmatchedPoint,
)
from service.reports.compared_sentence import sentence
from service.reports.control import slowdowns
from service.reports.covariates import differences
from service.reports.interleaved import ReadRatios, time_by_turns
from service.reports.matching import (
    Grouped,
    Identity,
    Trials,
    by_identity,
    check_fields,
    identity_differences,
    refuse_different,
)
from service.reports.sides import Side, find
from service.reports.step_times import StepTimes
from service.store import failed_points
from service.store.failed_points import FailedPoint
from service.store.timed import Timed
from service.store.turns import step_ratios


def between(
    session: Session,
    baseline: Side,
    candidate: Side,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    allow_different: Collection[str] = (),
) -> ComparisonReport:
    """Compare what two sides mean.

    NotFoundError for what is not there, NotComparableError where no point is on both sides since
    fields differ that `allow_different` does not name.
    """
    pointer = f"{baseline.pointer[:1]}allow_different"
    check_fields(allow_different, pointer=pointer)
    old, new = find(session, baseline), find(session, candidate)
    refuse_different(old.trials, new.trials, allowed=allow_different, pointer=pointer)
    return report(
        old.trials,
        new.trials,
        baseline_name=baseline.name,
        candidate_name=candidate.name,
        tolerance=tolerance,
        allow_different=allow_different,
        failed=(
            failed_points.find(session, old.which),
            failed_points.find(session, new.which),
        ),
        read_turns=partial(step_ratios, session),
    )


def report(
    baseline: Trials,
    candidate: Trials,
    *,
    baseline_name: str,
    candidate_name: str,
    tolerance: float = DEFAULT_TOLERANCE,
    allow_different: Collection[str] = (),
    failed: tuple[Sequence[FailedPoint], Sequence[FailedPoint]] = ((), ()),
    read_turns: ReadRatios = lambda _: {},
) -> ComparisonReport:
    """Match points by spec and hardware, whatever they are called, and judge them.

    Pure but for what reads the turns of pairs, which is asked where the sides are interleaved.
    """
    old, new = (by_identity(side, but_for=allow_different) for side in (baseline, candidate))
    matched = [identity for identity in old if identity in new]
    by_turns = time_by_turns(matched, old, new, read_turns)
    is_interleaved = by_turns is not None
    shown, found = _judged(matched, old, new, tolerance=tolerance, by_turns=by_turns)
    verdicts = Counter(point.verdict for point in shown)
    counts = {verdict: verdicts[verdict] for verdict in Verdict}
    overall = None if found.overall is None else RatioReport.of(found.overall)
    unmatched = _unmatched(old, new), _unmatched(new, old)
    gone = _failed(failed[0]), _failed(failed[1])
    return ComparisonReport(
        baseline=baseline_name,
        candidate=candidate_name,
        tolerance=tolerance,
        overall=overall,
        counts=counts,
        points=shown,
        unmatched_baseline=unmatched[0],
        unmatched_candidate=unmatched[1],
        failed_baseline=gone[0],
        failed_candidate=gone[1],
        coverage=Coverage(
            common=len(shown),
            only_baseline=len(unmatched[0]),
            only_candidate=len(unmatched[1]),
            failed_baseline=len(gone[0]),
            failed_candidate=len(gone[1]),
        ),
        differences=(
            *identity_differences(baseline, candidate, fields=allow_different),
            *differences(baseline, candidate),
        ),
        allowed_different=tuple(allow_different),
        is_interleaved=is_interleaved,
        sentence=sentence(overall, counts, tolerance=tolerance, is_interleaved=is_interleaved),
    )


def _judged(
    matched: Sequence[Identity],
    old: Grouped,
    new: Grouped,
    *,
    tolerance: float,
    by_turns: Callable[[Timed], float] | None,
) -> tuple[tuple[ComparedPoint, ...], Comparison]:
    before = StepTimes.of([old[identity] for identity in matched])
    after = StepTimes.of([new[identity] for identity in matched])
    judged = StepTimes.of([new[identity] for identity in matched], by_turns) if by_turns else after
    found = compare(
        before.values,
        judged.values,
        tolerance=tolerance,
        normalised=None if by_turns else _normalised(matched, old, new),
        sweeps=(before.sweeps, after.sweeps),
        is_interleaved=by_turns is not None,
    )
    shown = tuple(
        _compared(
            ratio, _side(old[identity], first), _side(new[identity], second), old[identity][0]
        )
        for identity, ratio, first, second in zip(
            matched, found.points, before.medians, after.medians, strict=True
        )
    )
    return shown, found


def _normalised(matched: Sequence[Identity], old: Grouped, new: Grouped) -> tuple[Values, Values]:
    """Step times of both sides as if the host had always been as quiet as at its quietest.

    Trials that are alike share that quiet moment over both sides. Where the sides differ in what
    they are, as in hardware, each has its own: controls of unlike hosts do not compare.
    """
    factors: dict[tuple[str, str], float] = {}
    for identity in matched:
        for alike in by_identity((*old[identity], *new[identity])).values():
            factors |= _slowdowns(alike)

    def of(trial: Timed) -> float:
        return trial.step_time_us / factors.get((trial.id, trial.point_id), np.nan)

    before, after = ([side[identity] for identity in matched] for side in (old, new))
    return StepTimes.of(before, of).values, StepTimes.of(after, of).values


def _slowdowns(trials: Trials) -> dict[tuple[str, str], float]:
    """By trial and point, of one point on both sides; empty where their controls do not compare."""
    factors = slowdowns(trials)
    if factors is None:
        return {}
    keys = [(trial.id, trial.point_id) for trial in trials]
    return dict(zip(keys, factors, strict=True))


def _compared(ratio: Ratio, before: SideReport, after: SideReport, first: Timed) -> ComparedPoint:
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
        num_sweeps=len({trial.sweep_id for trial in trials}),
        quality=tuple(sorted({flag for trial in trials for flag in trial.quality})),
    )


def _unmatched(own: Grouped, other: Grouped) -> tuple[UnmatchedPoint, ...]:
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


def _failed(found: Sequence[FailedPoint]) -> tuple[UnmatchedPoint, ...]:
    return tuple(
        UnmatchedPoint(
            point_id=one.id,
            spec=one.spec,
            spec_key=one.spec_key,
            hardware_key=one.hardware_key,
        )
        for one in found
    )
