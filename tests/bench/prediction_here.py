"""How far predictions are off on this machine: half of a grid predicted from the other half.

    python -m tests.bench.prediction_here

Twelve series of small points, each over batches from 1 to 1024, measured twice in fresh processes.
Every second batch calibrates, the others are held out: the median absolute error against what two
measurements of one grid differ by (A/A), and the share of the held-out points that the bands hold.
Beside it what others do: one rate for all, and latency + rate fitted in plain time. Takes some five
minutes of a quiet machine.
"""

import random
import sys
import tempfile
from itertools import product
from pathlib import Path
from statistics import mean, median

import numpy as np

from service.analysis.costmodel.curve import TimeCurve
from service.analysis.summary import summarise
from tests.bench.ratios import say
from workers.contract.axes import Block, Phase
from workers.contract.hardware import NodeFacts
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.sweep import Sampling
from workers.contract.trial import TrialOrder
from workers.local import LocalGroup
from workers.runtime.host import cpu_model
from workers.runtime.probe import probe_node

WIDTHS = (64, 128, 256)
DEGREES = (1, 2)
BATCHES = tuple(dict.fromkeys(round(2 ** (step / 4.4)) for step in range(45)))
SAMPLING = Sampling(max_time_s=0.12, min_steps=10)
GOAL, AGAINST_REPEAT = 0.10, 1.2
COVERAGE, COVERAGE_SLACK = 0.90, 0.05
SEED = 7
Times = dict[PointSpec, float]
Points = list[tuple[float, float]]


def grid() -> list[list[PointSpec]]:
    """Points by series, each by ascending batch."""
    return [
        [
            PointSpec(
                model=ModelShape.model_validate(
                    {
                        "hidden_size": width,
                        "intermediate_size": 4 * width,
                        "num_attention_heads": 4,
                    }
                ),
                block=block,
                phase=Phase.PREFILL,
                tp_degree=degree,
                batch=batch,
                seq=4,
            )
            for batch in BATCHES
        ]
        for width, block, degree in product(WIDTHS, (Block.MLP, Block.ATTENTION), DEGREES)
    ]


def measure_all(points: list[PointSpec], node: NodeFacts, *, repeat: int) -> Times:
    """Each once, in a random order, in one set of fresh processes."""
    order = list(points)
    random.Random(SEED + repeat).shuffle(order)
    times: Times = {}
    with (
        tempfile.TemporaryDirectory(prefix="tpsweep-") as logs,
        LocalGroup(size=max(DEGREES), degrees=DEGREES, node=node, log_dir=Path(logs)) as group,
    ):
        for number, point in enumerate(order):
            told = TrialOrder(
                trial_id=str(number),
                attempt=1,
                replicate=repeat,
                point=point,
                sampling=SAMPLING,
                seed=SEED,
                deadline_s=60,
            )
            times[point] = summarise(group.measure(told)).step_time_us
    return times


def held_out(series: list[PointSpec]) -> list[PointSpec]:
    """Every second batch, none at an end."""
    return series[1:-1:2]


def errors_of(series: list[PointSpec], times: Times) -> tuple[list[float], list[bool], Points]:
    """Relative errors of the held-out points, whether their bands hold them, and what was known."""
    held = held_out(series)
    known = [(float(one.batch), times[one]) for one in series if one not in held]
    curve = TimeCurve.of(known, calibration="")
    found = [(curve.predict(one.batch), times[one]) for one in held]
    errors = [abs(prediction.time_us / time - 1) for prediction, time in found]
    hits = [(one.low_us or 0) <= time <= (one.high_us or 0) for one, time in found]
    return errors, hits, known


def one_rate(known: Points, batch: int) -> float:
    """The best rate that was seen."""
    return batch / max(size / time for size, time in known)


def latency_and_rate(known: Points, batch: int) -> float:
    """A straight line by least squares in plain time."""
    sizes, times = np.array(known).T
    slope, start = np.polyfit(sizes, times, 1)
    return float(start + slope * batch)


def main() -> int:
    """Return 0 where both goals are met."""
    node = probe_node(cpu_model(), address="127.0.0.1", num_cpu_slots=max(DEGREES))
    all_series = grid()
    points = [point for series in all_series for point in series]
    first, again = (measure_all(points, node, repeat=repeat) for repeat in range(2))
    errors: list[float] = []
    hits: list[bool] = []
    repeats: list[float] = []
    rate: list[float] = []
    line: list[float] = []
    for series in all_series:
        own, own_hits, known = errors_of(series, first)
        errors, hits = errors + own, hits + own_hits
        for one in held_out(series):
            repeats.append(abs(again[one] / first[one] - 1))
            rate.append(abs(one_rate(known, one.batch) / first[one] - 1))
            line.append(abs(latency_and_rate(known, one.batch) / first[one] - 1))
    limit = max(AGAINST_REPEAT * median(repeats), GOAL)
    say(
        "this machine",
        n=len(errors),
        median_error_percent=100 * median(errors),
        repeat_error_percent=100 * median(repeats),
        limit_percent=100 * limit,
        band=mean(hits),
        one_rate_percent=100 * median(rate),
        latency_rate_percent=100 * median(line),
    )
    is_covered = abs(mean(hits) - COVERAGE) <= COVERAGE_SLACK
    return 0 if median(errors) <= limit and is_covered else 1


if __name__ == "__main__":
    sys.exit(main())
