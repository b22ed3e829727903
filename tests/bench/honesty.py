"""How often the instrument says what is not so, and how small a change it finds.

    python -m tests.bench.honesty [--quick]

Pairs of one MLP step at tp_degree 2, each by turns in several sets of fresh processes, through the
product's own ranks, summaries and verdicts:

- 300 pairs of the same point twice, judged as pairs, and the first of each against the second of
  another series of processes, as two sweeps are: how many are called faster or slower, in the step
  or in any part. Goal: upper 95 % bound of the rate at most 3 %.
- 60 pairs with 10 % more work planted in the compute of the second, and 60 with a delay planted in
  its forward collective. Goal: found in at least 95 %, and no other part blamed.
- The measured noise of the same point twice, halved, with 5 % planted in compute. Goal: 95 %.
- The change that would be found with 95 % probability, over seconds of measuring; unpaired too.

Takes about half an hour on two quiet cores; --quick shows in a minute or two that it works.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import median

from scipy.special import betaincinv

from service.analysis.comparison import Verdict
from service.reports import comparison, pairs
from service.reports.compared import ComparedPoint
from service.reports.pairs import MOVED, PairReport
from tests.bench.equal_pairs import Pair, Size, halved, longer, measure_series
from tests.bench.ratios import say

MOST_FALSE, LEAST_FOUND = 0.03, 0.95
COMPUTE, WIRE = "compute", "all_reduce mlp.forward"
MAY_MOVE = {COMPUTE: {COMPUTE}, WIRE: {WIRE, "exposed_communication"}}
"""Parts that a plant in one of them may move; the step may be too long to tell."""

LONG = Size(num_groups=9, num_pairs=30, num_series=10, num_planted_series=2, max_time_s=0.12)
QUICK = Size(num_groups=3, num_pairs=3, num_series=2, num_planted_series=1, max_time_s=0.1)


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


def is_named(found: PairReport, part: str) -> bool:
    """Whether the part is called slower, and no other that it does not move is blamed."""
    slower = {one.name for one in found.parts if one.verdict is Verdict.SLOWER}
    return part in slower and set(found.changed) <= MAY_MOVE[part]


def upper_bound(count: int, total: int) -> float:
    """Of a rate, with 95 % confidence (Clopper and Pearson 1934)."""
    return 1.0 if count == total else float(betaincinv(count + 1, total - count, 0.95))


def report_false(equal: Sequence[Sequence[Pair]]) -> bool:
    """Print how many equal points are told apart."""
    paired = [judge_paired(pair) for series in equal for pair in series]
    others = zip(equal, [*equal[1:], equal[0]], strict=True)
    unpaired = [
        judge_unpaired(before, after)
        for one, other in others
        for before, after in zip(one, other, strict=True)
    ]
    moved = {
        "paired": sum(one.verdict in MOVED or bool(one.changed) for one in paired),
        "unpaired": sum(one.verdict in MOVED for one in unpaired),
    }
    bounds = {kind: upper_bound(count, len(paired)) for kind, count in moved.items()}
    for kind, bound in bounds.items():
        say(
            "honesty",
            what="false verdicts",
            kind=kind,
            of=len(paired),
            false=moved[kind],
            upper_95=round(bound, 4),
        )
    return max(bounds.values()) <= MOST_FALSE


def report_power(part: str, planted: Sequence[Pair], equal: Sequence[Pair]) -> bool:
    """Print how often what was planted is found, by turns and between series of processes."""
    found = [judge_paired(pair) for pair in planted]
    places = [index % len(equal) for index in range(len(planted))]
    apart = [judge_unpaired(equal[at], pair) for at, pair in zip(places, planted, strict=True)]
    named = sum(is_named(one, part) for one in found) / len(found)
    ratios = [p.ratio for one in found for p in one.parts if p.name == part]
    say(
        "honesty",
        what="power",
        planted_in=part,
        pairs=len(found),
        named=round(named, 3),
        median_ratio=round(median(ratios), 3),
        median_step_ratio=round(median(one.parts[0].ratio for one in found), 3),
        seconds_per_pair=round(seconds(planted[0]), 1),
        unpaired_slower=round(sum(one.verdict is Verdict.SLOWER for one in apart) / len(apart), 3),
    )
    return named >= LEAST_FOUND


def report_half_noise(equal: Sequence[Pair]) -> bool:
    """Print how often 5 % in compute is found where noise is half of what it is here."""
    found = [judge_paired(halved(pair, compute=0.05)) for pair in equal]
    share = sum(is_named(one, COMPUTE) for one in found) / len(found)
    say(
        "honesty",
        what="half the noise",
        planted="5 % in compute",
        pairs=len(found),
        named=round(share, 3),
    )
    return share >= LEAST_FOUND


def report_detectable(equal: Sequence[Sequence[Pair]]) -> None:
    """Print the change that is found with 95 % probability, over the seconds it takes."""
    flat = [pair for series in equal for pair in series]
    for count in range(3, len(flat[0]) + 1):
        found = [judge_paired(pair[:count]) for pair in flat]
        step = [one.parts[0].detectable for one in found]
        say(
            "honesty",
            what="detectable, paired",
            groups=count,
            seconds=round(median(seconds(pair[:count]) for pair in flat), 2),
            step_time=_middle(step),
            compute=_middle(
                [p.detectable for one in found for p in one.parts if p.name == COMPUTE]
            ),
            wire=_middle([p.detectable for one in found for p in one.parts if p.name == WIRE]),
        )
    others = [pair for series in (*equal[1:], equal[0]) for pair in series]
    apart = [judge_unpaired(one, other) for one, other in zip(flat, others, strict=True)]
    sizes = [one.detectable for one in apart if one.detectable is not None]
    again = [
        judge_unpaired(one, longer(other, 1 + median(sizes)))
        for one, other in zip(flat, others, strict=True)
    ]
    say(
        "honesty",
        what="detectable, unpaired",
        groups=f"{len(flat[0])} on each side",
        step_time=_middle(sizes),
        found_when_stretched_by_it=round(
            sum(one.verdict is Verdict.SLOWER for one in again) / len(again), 3
        ),
    )


def seconds(pair: Pair) -> float:
    """What measuring the pair took, starts of processes not counted."""
    return sum(first.wall_ns for first, _ in pair) / 1e9


def _middle(sizes: Sequence[float | None]) -> float | None:
    known = [size for size in sizes if size is not None]
    return round(median(known), 4) if known else None


def main() -> int:
    """Return 0 where every goal is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.honesty")
    parser.add_argument("--quick", action="store_true", help="a few pairs: shows that it works")
    size = QUICK if parser.parse_args().quick else LONG
    began = time.perf_counter()
    equal = [measure_series(size, number) for number in range(size.num_series)]
    wall_s = time.perf_counter() - began
    per_pair = round(wall_s / size.num_series / size.num_pairs, 1)
    say(
        "honesty",
        what="measured",
        series=size.num_series,
        seconds=round(wall_s),
        per_pair_with_starts=per_pair,
    )
    planted = {
        part: [
            pair
            for number in range(size.num_planted_series)
            for pair in measure_series(size, 100 + number, plant=plant)
        ]
        for part, plant in ((COMPUTE, "compute"), (WIRE, "delay"))
    }
    say(
        "honesty",
        what="measured",
        planted=2 * size.num_planted_series,
        seconds=round(time.perf_counter() - began),
    )
    flat = [pair for series in equal for pair in series]
    report_detectable(equal)
    goals = [
        report_false(equal),
        *[report_power(part, pairs_of, flat) for part, pairs_of in planted.items()],
        report_half_noise(flat),
    ]
    return 0 if all(goals) else 1


if __name__ == "__main__":
    sys.exit(main())
