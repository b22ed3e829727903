"""What the product says of pairs that were measured, as pairs and as if in two sweeps."""

from collections.abc import Iterator, Sequence

from service.reports import comparison, pairs
from service.reports.compared import ComparedPoint
from service.reports.pairs import PairReport
from tests.bench.equal_pairs import Kind, Pair, Series


def judge_paired(pair: Pair) -> PairReport:
    """One pair alone, as a sweep of one."""
    trials = [trial for group in pair for trial in group]
    (found,) = pairs.report(trials, sweep_id="s", pair=None).pairs
    return found


def judge_unpaired(before: Pair, after: Pair) -> ComparedPoint:
    """The first points of one series of processes against the second points of another."""
    baseline, candidate = [first for first, _ in before], [second for _, second in after]
    (found,) = comparison.report(baseline, candidate, baseline_name="a", candidate_name="b").points
    return found


def apart(series: Sequence[Series], kind: Kind) -> Iterator[tuple[int, ComparedPoint]]:
    """Unpaired verdicts on what was planted, each with the number of its series.

    Each pair is held against equal ones of the same point in other sets of processes, and the pairs
    of a series against those of all other series in turn.
    """
    for number, own in enumerate(series):
        for place, pair in enumerate(own[kind]):
            other = (number + 1 + place % (len(series) - 1)) % len(series)
            yield number, judge_unpaired(series[other][kind.equal][place], pair)


def pairs_of(series: Sequence[Series], kind: Kind) -> list[Pair]:
    """All pairs of one kind."""
    return [pair for one in series for pair in one[kind]]


def seconds(pair: Pair) -> float:
    """What measuring the pair took, starts of processes not counted."""
    return sum(first.wall_ns for first, _ in pair) / 1e9
