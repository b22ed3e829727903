"""The pairs of a sweep: which of two points is faster, and the part of the step that makes it."""

from collections.abc import Sequence
from statistics import median

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.comparison import Verdict
from service.analysis.pairs import DEFAULT_PAIR_TOLERANCE, Part, judge_pairs
from service.reports.estimates import generator_of
from service.reports.sentences import could_be_found
from service.store import sweeps
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from workers.contract.frozen import Frozen
from workers.contract.pair import Pair
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec

Both = tuple[MeasuredTrial, MeasuredTrial]
"""First and second point of a pair as one trial measured them."""

MOVED = frozenset({Verdict.FASTER, Verdict.SLOWER})


class PairSide(Frozen):
    """One of the two points."""

    point_id: str
    spec: PointSpec
    value: str = Field(description="What it has on the axis of the pair; empty for the same.")
    step_time_us: float = Field(description="Median over groups.")


class PartReport(Frozen):
    """The step or a part of it: second point over first, below 1 is faster."""

    name: str = Field(
        description="step_time, compute, exposed_communication, or a collective's wire by its "
        "operation and place."
    )
    ratio: float = Field(
        description="Median over groups of the ratio in each, which is the median over its twin "
        "steps; of exposed communication 1 plus its change over the first point's step."
    )
    ci_low: float | None = Field(description="95 % interval over groups; null with one.")
    ci_high: float | None
    p: float | None = Field(
        description="Of a change beyond the tolerance, after correction for the number of parts "
        "of all pairs (Benjamini-Hochberg)."
    )
    detectable: float | None = Field(
        description="Relative change that as many such groups would show with 95 % probability."
    )
    verdict: Verdict


class PairReport(Frozen):
    """Two points that took turns."""

    first: PairSide
    second: PairSide
    verdict: Verdict = Field(description="Of the second point's step time.")
    parts: tuple[PartReport, ...] = Field(description="The step time, then its parts.")
    changed: tuple[str, ...] = Field(description="Parts that are faster or slower, by name.")
    num_groups: int = Field(description="Sets of processes that measured both.")
    quality: tuple[str, ...] = Field(description="Flags of any trial of either point.")
    sentence: str


class PairsReport(Frozen):
    """All pairs of a sweep."""

    sweep_id: str
    pair: Pair | None = Field(description="As the sweep names it; null where it has none.")
    tolerance: float
    pairs: tuple[PairReport, ...]


def find(
    session: Session, sweep_id: str, *, tolerance: float = DEFAULT_PAIR_TOLERANCE
) -> PairsReport:
    """Judge what is measured of a sweep's pairs so far. NotFoundError if there is no such sweep."""
    spec = sweeps.find(session, sweep_id).spec
    trials = measured(session, ResultFilter(sweep_ids=(sweep_id,)))
    pair = spec.pair if isinstance(spec, SweepSpec) else None
    return report(trials, sweep_id=sweep_id, pair=pair, tolerance=tolerance)


def report(
    trials: Sequence[MeasuredTrial],
    *,
    sweep_id: str,
    pair: Pair | None,
    tolerance: float = DEFAULT_PAIR_TOLERANCE,
) -> PairsReport:
    """Put the two points of each trial together and judge them over trials. Pure."""
    pairs = _pairs(trials)
    judged = judge_pairs(
        [[(first.summary, second.summary) for first, second in groups] for groups in pairs],
        tolerance=tolerance,
        rng=generator_of(sweep_id),
    )
    return PairsReport(
        sweep_id=sweep_id,
        pair=pair,
        tolerance=tolerance,
        pairs=tuple(
            _pair(groups, parts, pair) for groups, parts in zip(pairs, judged, strict=True)
        ),
    )


def _pairs(trials: Sequence[MeasuredTrial]) -> list[list[Both]]:
    firsts = {(t.id, t.point_id): t for t in trials if t.paired_with is None}
    pairs: dict[str, list[Both]] = {}
    for second in trials:
        first = firsts.get((second.id, second.paired_with or ""))
        if first is not None:
            pairs.setdefault(second.point_id, []).append((first, second))
    return list(pairs.values())


def _pair(groups: Sequence[Both], parts: Sequence[Part], pair: Pair | None) -> PairReport:
    firsts, seconds = zip(*groups, strict=True)
    shown = tuple(_part(part) for part in parts)
    first_value, second_value = pair.values if pair and pair.values else ("", "")
    step, *others = shown
    return PairReport(
        first=_side(firsts, first_value),
        second=_side(seconds, second_value),
        verdict=step.verdict,
        parts=shown,
        changed=tuple(part.name for part in others if part.verdict in MOVED),
        num_groups=len(groups),
        quality=tuple(sorted({flag for both in groups for t in both for flag in t.quality})),
        sentence=_sentence(shown, first_value, second_value, num_groups=len(groups)),
    )


def _side(trials: Sequence[MeasuredTrial], value: str) -> PairSide:
    return PairSide(
        point_id=trials[0].point_id,
        spec=trials[0].spec,
        value=value,
        step_time_us=median(trial.summary.step_time_us for trial in trials),
    )


def _part(part: Part) -> PartReport:
    return PartReport(
        name=part.name,
        ratio=part.ratio.median,
        ci_low=part.ratio.low,
        ci_high=part.ratio.high,
        p=part.p,
        detectable=part.detectable,
        verdict=part.verdict,
    )


def _sentence(
    parts: Sequence[PartReport], first_value: str, second_value: str, *, num_groups: int
) -> str:
    step, *others = parts
    told = f"{step.verdict}: {second_value or 'the second'} takes {_known(step)} of the time of "
    told += f"{first_value or 'the first'}, by turns in {num_groups} "
    told += "group" if num_groups == 1 else "groups"
    moved = [f"{part.name} {_known(part)}" for part in others if part.verdict in MOVED]
    if moved:
        return f"{told}; what changed: {', '.join(moved)}"
    if step.verdict is Verdict.INCONCLUSIVE and step.detectable is not None:
        return f"{told}; {could_be_found(step.detectable)}"
    return told


def _known(part: PartReport) -> str:
    if part.ci_low is None or part.ci_high is None:
        return f"{part.ratio:.3f}"
    return f"{part.ratio:.3f} ({part.ci_low:.3f} to {part.ci_high:.3f})"
