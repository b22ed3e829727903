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
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from scipy.special import betaincinv

from service.analysis.comparison import Verdict
from service.analysis.summary import TrialSummary, summarise
from service.reports import comparison, pairs
from service.reports.compared import ComparedPoint
from service.reports.pairs import MOVED, PairReport
from service.store.results import MeasuredTrial
from tests.bench.planted_rank import PLANT_VARIABLE, PlantedRank
from workers.contract.axes import Block, Phase
from workers.contract.hardware import NodeFacts
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.sweep import Sampling
from workers.contract.trial import TrialOrder, TrialResult
from workers.local import LocalGroup
from workers.runtime.probe import probe_node

SHAPE = {"hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 8}
FIRST_BATCH = 64
MOST_FALSE, LEAST_FOUND = 0.03, 0.95
COMPUTE, WIRE = "compute", "all_reduce mlp.forward"
MAY_MOVE = {COMPUTE: {COMPUTE}, WIRE: {WIRE, "exposed_communication"}}
"""Parts that a plant in one of them may move; the step may be too long to tell."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    num_groups: int
    """Sets of processes for each pair."""
    num_pairs: int
    """Pairs that one series of sets measures."""
    num_series: int
    num_planted_series: int
    """Of each plant."""
    max_time_s: float
    """For each point of a pair in one set."""


LONG = Size(num_groups=9, num_pairs=30, num_series=10, num_planted_series=2, max_time_s=0.12)
QUICK = Size(num_groups=3, num_pairs=3, num_series=2, num_planted_series=1, max_time_s=0.1)

Pair = list[tuple[MeasuredTrial, MeasuredTrial]]
"""Both points in each set of processes."""


def measure_series(size: Size, number: int, *, plant: str = "") -> list[Pair]:
    """Measure pairs of equal points in new sets of processes; the second point has the plant."""
    os.environ[PLANT_VARIABLE] = plant
    node = probe_node("here", address="127.0.0.1", num_cpu_slots=2)
    measured: list[Pair] = [[] for _ in range(size.num_pairs)]
    with tempfile.TemporaryDirectory(prefix="tpsweep-") as logs:
        for replicate in range(size.num_groups):
            with LocalGroup(
                size=2, degrees=(2,), node=node, log_dir=Path(logs), rank_class=PlantedRank
            ) as group:
                for place, pair in enumerate(measured):
                    trial_id = f"{number}-{place}-{replicate}"
                    told = order(place, size, trial_id=trial_id, replicate=replicate)
                    pair.append(both(group.measure(told), told, series=number, node=node))
    return measured


def order(place: int, size: Size, *, trial_id: str, replicate: int) -> TrialOrder:
    """A pair of one point with itself; each pair of a series has a batch of its own."""
    point = PointSpec(
        model=ModelShape.model_validate(SHAPE),
        block=Block.MLP,
        phase=Phase.TRAIN,
        tp_degree=2,
        batch=FIRST_BATCH + place,
        seq=1,
    )
    return TrialOrder(
        trial_id=trial_id,
        attempt=1,
        replicate=replicate,
        point=point,
        pair_point=point,
        sampling=Sampling(target_rel_ci=1e-6, max_time_s=size.max_time_s),
        seed=1,
        deadline_s=120,
    )


def both(
    result: TrialResult, told: TrialOrder, *, series: int, node: NodeFacts
) -> tuple[MeasuredTrial, MeasuredTrial]:
    """What the store would give back of the trial."""
    assert result.pair is not None
    first = f"{series}-{told.point.batch}-first"
    second = f"{series}-{told.point.batch}-second"
    return (
        as_stored(result, told, point_id=first, paired_with=None, series=series, node=node),
        as_stored(result.pair, told, point_id=second, paired_with=first, series=series, node=node),
    )


def as_stored(
    result: TrialResult,
    told: TrialOrder,
    *,
    point_id: str,
    paired_with: str | None,
    series: int,
    node: NodeFacts,
) -> MeasuredTrial:
    """One point of it."""
    return MeasuredTrial(
        id=told.trial_id,
        point_id=point_id,
        paired_with=paired_with,
        sweep_id=str(series),
        replicate=told.replicate,
        attempt=1,
        group_id=result.group_id,
        group_kind=result.group_kind,
        spec=result.point,
        spec_key=result.point.spec_key,
        hardware_key=result.hardware_key,
        hardware=node.hardware,
        link_class=result.link_class,
        node=result.node,
        environment=result.environment,
        summary=summarise(result),
        quality=result.quality,
        stop_rule=result.stop_rule,
        num_warmup_steps=result.num_warmup_steps,
        peak_memory_bytes=result.peak_memory_bytes,
        proof=result.proof,
        wall_ns=result.wall_ns,
        timed_ns=result.timed_ns,
        hosts=result.hosts,
        created_at=datetime.now(UTC),
    )


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


def longer(pair: Pair, factor: float) -> Pair:
    """The same pair had the second point's step taken so much longer."""
    return [(first, _scaled(second, factor)) for first, second in pair]


def _scaled(trial: MeasuredTrial, factor: float) -> MeasuredTrial:
    times = ("step_time_us", "compute_time_us")
    update = {name: getattr(trial.summary, name) * factor for name in times}
    return replace(trial, summary=trial.summary.model_copy(update=update))


def halved(pair: Pair, *, compute: float) -> Pair:
    """The pair on a host with half the noise, and so much more compute in the second point."""
    return [
        (first, replace(second, summary=_halved(first.summary, second.summary, compute=compute)))
        for first, second in pair
    ]


def _halved(first: TrialSummary, second: TrialSummary, *, compute: float) -> TrialSummary:
    def between(one: float, other: float) -> float:
        return float((one * other) ** 0.5)

    quiet_us = between(first.compute_time_us, second.compute_time_us)
    added_us = quiet_us * compute
    collectives = tuple(
        after.model_copy(update={"time_us": between(before.time_us, after.time_us)})
        for before, after in zip(first.collectives, second.collectives, strict=True)
    )
    step_us = between(first.step_time_us, second.step_time_us) + added_us
    update = {"step_time_us": step_us, "compute_time_us": quiet_us + added_us}
    return second.model_copy(update={**update, "collectives": collectives})


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
            "false verdicts", kind=kind, of=len(paired), false=moved[kind], upper_95=round(bound, 4)
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
        "power",
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
    say("half the noise", planted="5 % in compute", pairs=len(found), named=round(share, 3))
    return share >= LEAST_FOUND


def report_detectable(equal: Sequence[Sequence[Pair]]) -> None:
    """Print the change that is found with 95 % probability, over the seconds it takes."""
    flat = [pair for series in equal for pair in series]
    for count in range(3, len(flat[0]) + 1):
        found = [judge_paired(pair[:count]) for pair in flat]
        step = [one.parts[0].detectable for one in found]
        say(
            "detectable, paired",
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
        "detectable, unpaired",
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


def say(what: str, **facts: object) -> None:
    """Print one JSON line."""
    sys.stdout.write(json.dumps({"benchmark": "honesty", "what": what, **facts}) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Return 0 where every goal is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.honesty")
    parser.add_argument("--quick", action="store_true", help="a few pairs: shows that it works")
    size = QUICK if parser.parse_args().quick else LONG
    began = time.perf_counter()
    equal = [measure_series(size, number) for number in range(size.num_series)]
    wall_s = time.perf_counter() - began
    per_pair = round(wall_s / size.num_series / size.num_pairs, 1)
    say("measured", series=size.num_series, seconds=round(wall_s), per_pair_with_starts=per_pair)
    planted = {
        part: [
            pair
            for number in range(size.num_planted_series)
            for pair in measure_series(size, 100 + number, plant=plant)
        ]
        for part, plant in ((COMPUTE, "compute"), (WIRE, "delay"))
    }
    say("measured", planted=2 * size.num_planted_series, seconds=round(time.perf_counter() - began))
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
