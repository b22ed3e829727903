"""Pairs of one MLP step with itself, each by turns in several sets of fresh processes."""

import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from service.analysis.summary import TrialSummary, summarise
from service.analysis.turns import TurnRatios
from service.store.results import MeasuredTrial
from tests.bench.planted_rank import Plant, PlantedRank
from tests.bench.ratios import say
from tests.narrowing import block_of
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


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    num_series: int
    """Each in sets of processes of its own."""
    num_groups: int
    """Sets of processes for each pair."""
    num_pairs: int
    """Pairs of equal points that one series measures, for `max_time_s` each."""
    num_planted: int
    """Pairs with each plant, and further equal ones, in the same sets for `planted_time_s`."""
    max_time_s: float
    """For each point of a pair in one set."""
    planted_time_s: float


class Kind(NamedTuple):
    """What is planted in a pair, and whether it is measured for the longer time."""

    plant: Plant
    is_long: bool = True

    @property
    def equal(self) -> "Kind":
        """Without a plant."""
        return self._replace(plant=Plant.NOTHING)


BRIEF = Kind(Plant.NOTHING, is_long=False)
KINDS = (BRIEF, *map(Kind, Plant))


Pair = list[tuple[MeasuredTrial, MeasuredTrial]]
"""Both points in each set of processes."""

Series = Mapping[Kind, Sequence[Pair]]
"""What one series of sets measured; the pairs of one place have one point, whatever is planted."""


def measure(size: Size) -> list[Series]:
    """Measure all series, and say after each how far it is."""
    began = time.perf_counter()
    measured: list[Series] = []
    for number in range(size.num_series):
        measured.append(measure_series(size, number))
        so_far_s = time.perf_counter() - began
        per_series_s = so_far_s / len(measured)
        say(
            "honesty",
            what="measured",
            series=f"{len(measured)} of {size.num_series}",
            seconds=round(so_far_s),
            seconds_left=round(per_series_s * (size.num_series - len(measured))),
            per_pair_with_starts=round(per_series_s / sum(map(len, measured[-1].values())), 1),
        )
    return measured


def measure_series(size: Size, number: int) -> Series:
    """Measure pairs of equal points, and some whose second is slower, in new sets of processes.

    Every set takes them in another order, so that a plant does not always follow the same pair.
    """
    node = probe_node("here", address="127.0.0.1", num_cpu_slots=2)
    counts = {kind: size.num_planted if kind.is_long else size.num_pairs for kind in KINDS}
    measured: dict[Kind, list[Pair]] = {
        kind: [[] for _ in range(count)] for kind, count in counts.items()
    }
    trials = [(kind, place) for kind, count in counts.items() for place in range(count)]
    with tempfile.TemporaryDirectory(prefix="tpsweep-") as logs:
        for replicate in range(size.num_groups):
            random.Random(f"{number}/{replicate}").shuffle(trials)
            with LocalGroup(
                size=2, degrees=(2,), node=node, log_dir=Path(logs), rank_class=PlantedRank
            ) as group:
                for kind, place in trials:
                    told = order(place, size, kind=kind, series=number, replicate=replicate)
                    found = both(group.measure(told), told, series=number, node=node)
                    measured[kind][place].append(found)
    return measured


def order(place: int, size: Size, *, kind: Kind, series: int, replicate: int) -> TrialOrder:
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
        trial_id=f"{series}-{KINDS.index(kind)}-{place}-{replicate}",
        attempt=1,
        replicate=replicate,
        point=point,
        pair_point=point,
        sampling=Sampling(
            target_rel_ci=1e-6,
            max_time_s=size.planted_time_s if kind.is_long else size.max_time_s,
        ),
        seed=kind.plant.seed,
        deadline_s=120,
    )


def both(
    result: TrialResult, told: TrialOrder, *, series: int, node: NodeFacts
) -> tuple[MeasuredTrial, MeasuredTrial]:
    """What the store would give back of the trial."""
    assert result.pair is not None
    first = f"{series}-{block_of(told.point).batch}-first"
    second = f"{series}-{block_of(told.point).batch}-second"
    return (
        as_stored(result, told, point_id=first, series=series, node=node),
        as_stored(
            result.pair,
            told,
            point_id=second,
            paired_with=first,
            beside=result,
            series=series,
            node=node,
        ),
    )


def as_stored(
    result: TrialResult,
    told: TrialOrder,
    *,
    point_id: str,
    series: int,
    node: NodeFacts,
    paired_with: str | None = None,
    beside: TrialResult | None = None,
) -> MeasuredTrial:
    """One point of it; the second of the pair beside the first."""
    return MeasuredTrial(
        id=told.trial_id,
        point_id=point_id,
        paired_with=paired_with,
        sweep_id=str(series),
        replicate=told.replicate,
        attempt=1,
        group_id=result.group_id,
        group_kind=result.group_kind,
        spec=block_of(result.point),
        spec_key=result.point.spec_key,
        hardware_key=result.hardware_key,
        hardware=node.hardware,
        link_class=result.link_class,
        node=result.node,
        environment=result.environment,
        summary=summarise(result, beside=beside),
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
    """Paired verdicts look at the ratios of turns alone."""
    turns = second.turns
    assert turns is not None
    assert turns.compute is not None
    quiet = turns.compute**0.5
    added = quiet * compute
    added_to_step = added * first.compute_time_us / first.step_time_us
    ratios = TurnRatios(
        step_time=turns.step_time**0.5 + added_to_step,
        compute=quiet + added,
        wires={name: ratio**0.5 for name, ratio in turns.wires.items()},
    )
    return second.model_copy(update={"turns": ratios})
