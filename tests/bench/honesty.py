"""How often the instrument says what is not so, and how small a change it finds.

    python -m tests.bench.honesty [--quick]

Pairs of one MLP step at tp_degree 2, each by turns in several sets of fresh processes, through the
product's own ranks, summaries and verdicts:

- 300 pairs of the same point twice, judged as pairs, and the first of each against the second of
  another series of processes, as two sweeps are: how many are called faster or slower, in the step
  or in any part. Goal: upper 95 % bound of the rate at most 3 %.
- 60 pairs with 10 % more work planted in the compute of the second, and 60 with a delay planted in
  its forward collective. Goal: found in at least 95 % within 30 s a pair, and no other part blamed.
- The measured noise of 60 of the equal pairs, halved, with 5 % planted in compute. Goal: 95 %.
- To which side the equal pairs lean, and how likely that is by chance alone.
- The change that would be found with 95 % probability, over seconds of measuring; unpaired too.

All of a series, equal and planted, is measured in the same sets of processes, in an order of its
own in each: starts are the dearest part. What a set does to a pair falls on both its points; but
unpaired verdicts of one series share its sets, so that each place of a series is held against
another one of the others, and how many series had a false verdict is told beside their number.

Most equal pairs are measured briefly, the others as long as the planted ones.

Takes about 80 minutes on two quiet cores, and says after the first series how long it will be.
--quick shows in a minute or two that it works; so few pairs prove nothing, and it returns 1.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from scipy.special import betaincinv

from service.analysis.comparison import Verdict
from service.analysis.self_check import SamePair, check
from service.reports.pairs import MOVED, PairReport
from tests.bench.equal_pairs import (
    BRIEF,
    KINDS,
    Kind,
    Pair,
    Series,
    Size,
    halved,
    longer,
    measure,
)
from tests.bench.planted_rank import Plant
from tests.bench.ratios import say
from tests.bench.verdicts import apart, judge_paired, pairs_of, seconds

MOST_FALSE, LEAST_FOUND = 0.03, 0.95
COMPUTE, WIRE = "compute", "all_reduce mlp.forward"
MAY_MOVE = {COMPUTE: {COMPUTE}, WIRE: {WIRE, "exposed_communication"}}
"""Parts that a plant in one of them may move; the step may be too long to tell."""

LONG = Size(
    num_series=10,
    num_groups=9,
    num_pairs=24,
    num_planted=6,
    max_time_s=0.12,
    planted_time_s=0.8,
)
QUICK = replace(LONG, num_series=2, num_groups=3, num_pairs=3, num_planted=1)
MOST_S_A_PAIR = 30.0


def is_named(found: PairReport, part: str) -> bool:
    """Whether the part is called slower, and no other that it does not move is blamed."""
    slower = {one.name for one in found.parts if one.verdict is Verdict.SLOWER}
    return part in slower and set(found.changed) <= MAY_MOVE[part]


def upper_bound(count: int, total: int) -> float:
    """Of a rate, with 95 % confidence (Clopper and Pearson 1934)."""
    return 1.0 if count == total else float(betaincinv(count + 1, total - count, 0.95))


def report_false(series: Sequence[Series]) -> bool:
    """Print how many equal points are told apart."""
    equal = [kind for kind in KINDS if kind.equal == kind]
    paired = [
        (number, judge_paired(pair))
        for number, one in enumerate(series)
        for kind in equal
        for pair in one[kind]
    ]
    unpaired = [found for kind in equal for found in apart(series, kind)]
    false = {
        "paired": [at for at, one in paired if one.verdict in MOVED or one.changed],
        "unpaired": [at for at, one in unpaired if one.verdict in MOVED],
    }
    bounds = {kind: upper_bound(len(places), len(paired)) for kind, places in false.items()}
    for kind, bound in bounds.items():
        say(
            "honesty",
            what="false verdicts",
            kind=kind,
            of=len(paired),
            false=len(false[kind]),
            upper_95=round(bound, 4),
            series_with_false=f"{len(set(false[kind]))} of {len(series)}",
        )
    return max(bounds.values()) <= MOST_FALSE


def report_lean(series: Sequence[Series], kind: Kind) -> None:
    """Print to which side equal pairs lean: turns that are not equal would show here."""
    found = [judge_paired(pair) for pair in pairs_of(series, kind)]
    ratios = [one.parts[0].ratio for one in found]
    lean = check(
        [
            SamePair(ratio=ratio, verdict=one.verdict, num_groups=one.num_groups)
            for ratio, one in zip(ratios, found, strict=True)
        ]
    )
    say(
        "honesty",
        what="lean",
        seconds_per_pair=round(median(map(seconds, pairs_of(series, kind))), 1),
        pairs=len(found),
        median_step_ratio=round(median(ratios), 4),
        share_slower=lean.share_slower,
        p=lean.p_one_sided,
    )


def report_power(part: str, kind: Kind, series: Sequence[Series]) -> bool:
    """Print how often what was planted is found, by turns and between series of processes."""
    planted = pairs_of(series, kind)
    found = [judge_paired(pair) for pair in planted]
    unpaired = [one.verdict for _, one in apart(series, kind)]
    named = sum(is_named(one, part) for one in found) / len(found)
    ratios = [p.ratio for one in found for p in one.parts if p.name == part]
    took_s = median(seconds(pair) for pair in planted)
    say(
        "honesty",
        what="power",
        planted_in=part,
        pairs=len(found),
        named=round(named, 3),
        median_ratio=round(median(ratios), 3),
        median_step_ratio=round(median(one.parts[0].ratio for one in found), 3),
        seconds_per_pair=round(took_s, 1),
        unpaired_slower=round(unpaired.count(Verdict.SLOWER) / len(unpaired), 3),
    )
    return named >= LEAST_FOUND and took_s <= MOST_S_A_PAIR


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


def report_detectable(series: Sequence[Series], kind: Kind) -> None:
    """Print the change that is found with 95 % probability, over the seconds it takes."""
    equal = pairs_of(series, kind)
    for count in range(3, len(equal[0]) + 1):
        found = [judge_paired(pair[:count]) for pair in equal]
        say(
            "honesty",
            what="detectable, paired",
            groups=count,
            seconds=round(median(seconds(pair[:count]) for pair in equal), 2),
            step_time=_middle([one.parts[0].detectable for one in found]),
            compute=_middle(
                [p.detectable for one in found for p in one.parts if p.name == COMPUTE]
            ),
            wire=_middle([p.detectable for one in found for p in one.parts if p.name == WIRE]),
        )
    sizes = [one.detectable for _, one in apart(series, kind)]
    size = _middle(sizes)
    say(
        "honesty",
        what="detectable, unpaired",
        groups=f"{len(equal[0])} on each side",
        seconds=round(2 * median(seconds(pair) for pair in equal), 2),
        step_time=size,
        found_when_stretched_by_it=None
        if size is None
        else _found_when_longer(series, kind, 1 + size),
    )


def _found_when_longer(series: Sequence[Series], kind: Kind, factor: float) -> float:
    """Share of unpaired verdicts that are slower where the second points are so much longer."""
    planted = kind._replace(plant=Plant.COMPUTE)
    stretched = [{**one, planted: [longer(pair, factor) for pair in one[kind]]} for one in series]
    verdicts = [one.verdict for _, one in apart(stretched, planted)]
    return round(verdicts.count(Verdict.SLOWER) / len(verdicts), 3)


def _middle(sizes: Sequence[float | None]) -> float | None:
    known = [size for size in sizes if size is not None]
    return round(median(known), 4) if known else None


def main() -> int:
    """Return 0 where every goal is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.honesty")
    parser.add_argument("--quick", action="store_true", help="a few pairs: shows that it works")
    size = QUICK if parser.parse_args().quick else LONG
    series = measure(size)
    for kind in (BRIEF, Kind(Plant.NOTHING)):
        report_lean(series, kind)
        report_detectable(series, kind)
    goals = [
        report_false(series),
        report_power(COMPUTE, Kind(Plant.COMPUTE), series),
        report_power(WIRE, Kind(Plant.DELAY), series),
        report_half_noise(pairs_of(series, Kind(Plant.NOTHING))),
    ]
    return 0 if all(goals) else 1


if __name__ == "__main__":
    sys.exit(main())
