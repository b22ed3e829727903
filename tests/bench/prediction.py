"""How far predictions are off, on published measurements: ours, and the forms others use.

    python -m tests.bench.prediction

One JSON line for each table. Collective curves: each inner point predicted from all others.
Products and all-reduces of the vidur data set: every second one from the others. Beside ours the
zero-shot forms: line rate alone, latency + bandwidth, both peaks. At the end stand-alone
all-reduces against what leaving them out of a step saves (TokenWeave, 8 H100). On this machine:
`tests.bench.prediction_here`, which this runs last.
"""

import csv
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from service.analysis.costmodel.accelerators import Accelerator, find_accelerator
from service.analysis.costmodel.curve import TimeCurve
from service.analysis.costmodel.faults import suspicions
from service.analysis.costmodel.gemm import GemmModel, Product, merged
from service.reports.curve_faults import spans_nodes
from tests.bench import prediction_here
from tests.bench.ratios import say
from tests.unit.analysis.costmodel.published import (
    NAMES,
    Points,
    as_torch_calls_it,
    faster,
    table,
)

MEASURED = Path(__file__).parents[1] / "cases" / "measured"
LATENCY_US = 20.0
EFFICIENCY = 0.65
"""Of the line rate, as calculon has it."""
GOAL = 0.05
Form = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of one way of predicting."""

    values: list[float]

    def facts(self, name: str) -> dict[str, float]:
        """As they are printed, in percent."""
        shown = {"mean": mean(self.values), "median": median(self.values), "max": max(self.values)}
        return {f"{name}_{key}_percent": round(100 * value, 2) for key, value in shown.items()}


def leave_one_out(points: Points) -> Errors:
    """Each inner point from all others."""
    curve = TimeCurve.of(points, calibration="")
    return Errors([abs(math.expm1(error)) for error in curve.held_out_errors])


def from_half(points: Points) -> tuple[Errors, float]:
    """Every second point from the others, both ways; and the share that the bands hold."""
    errors, hits = [], []
    ordered = sorted(points)
    for first in (0, 1):
        curve = TimeCurve.of(ordered[first::2], calibration="")
        for size, time in ordered[1 - first :: 2]:
            if curve.sizes[0] <= size <= curve.sizes[-1]:
                found = curve.predict(size)
                errors.append(abs(found.time_us / time - 1))
                hits.append((found.low_us or 0) <= time <= (found.high_us or 0))
    return Errors(errors), mean(hits)


def zero_shot(points: Points, form: Form) -> Errors:
    """The same points from a formula."""
    return Errors([abs(form(size) / time - 1) for size, time in sorted(points)[1:-1]])


def line_rate(accelerator: Accelerator, factor: float) -> Form:
    """Bytes of the ring over the published rate."""
    return lambda size: size * factor / (accelerator.link.gb_per_s * 1e3)


def latency_and_bandwidth(accelerator: Accelerator, factor: float) -> Form:
    """A start, and the ring at a usual part of the rate."""
    rate = line_rate(accelerator, factor)
    return lambda size: LATENCY_US + rate(size) / EFFICIENCY


def collective_tables() -> bool:
    """Public nccl-tests tables; whether every sound one of a single node meets the goal."""
    is_met = True
    for name in NAMES:
        points = as_torch_calls_it(name)
        ours = leave_one_out(points)
        is_spread = spans_nodes(table(name)) or "2node" in name
        doubts = suspicions(*faster(name), spans_nodes=is_spread)
        is_met &= is_spread or bool(doubts) or mean(ours.values) <= GOAL
        facts = ours.facts("ours")
        if accelerator := find_accelerator(name):
            factor = table(name).operation.bus_factor(table(name).num_ranks)
            facts |= zero_shot(points, line_rate(accelerator, factor)).facts("line_rate")
            form = latency_and_bandwidth(accelerator, factor)
            facts |= zero_shot(points, form).facts("latency_bandwidth")
        say("nccl-tests", table=name, n=len(points), num_doubts=len(doubts), **facts)
    return is_met


def all_reduce_kernels() -> bool:
    """Half of each of vidur's all-reduce tables from the other half."""
    tables: dict[tuple[str, str, str], Points] = {}
    for row in _rows("vidur_all_reduce_kernel_us.csv"):
        key = (row["system"], row["num_workers"], row["devices_per_node"])
        tables.setdefault(key, []).append((float(row["bytes"]), float(row["median_us"])))
    everything: list[float] = []
    bands: list[float] = []
    for (system, workers, per_node), points in tables.items():
        errors, held = from_half(points)
        everything += errors.values
        bands.append(held)
        name = f"{system} x{workers}, {per_node} per node"
        say("vidur all_reduce", table=name, n=len(errors.values), band=held, **errors.facts("ours"))
    facts = Errors(everything).facts("ours")
    say("vidur all_reduce", table="all", n=len(everything), band=mean(bands), **facts)
    return median(everything) <= 2 * GOAL


def sharded_products() -> bool:
    """Half of vidur's products from the other half, against published peaks."""
    is_met = True
    for device in ("a100", "h100"):
        times = merged(
            [pair for row in _rows("vidur_mlp_compute_us.csv") for pair in _products(row, device)]
        )
        shapes = sorted(times)
        random.Random(1).shuffle(shapes)
        errors: list[float] = []
        hits: list[bool] = []
        for known, held in ((shapes[::2], shapes[1::2]), (shapes[1::2], shapes[::2])):
            model = GemmModel({one: times[one] for one in known}, element_bytes=2, calibration="")
            for one in held:
                found = model.predict(one)
                errors.append(abs(found.time_us / times[one] - 1))
                hits.append((found.low_us or 0) <= times[one] <= (found.high_us or 0))
        accelerator = find_accelerator(device)
        assert accelerator is not None
        peaks = [abs(_at_peaks(accelerator, one) / times[one] - 1) for one in shapes]
        say(
            "vidur products",
            table=device,
            n=len(errors),
            band=mean(hits),
            **Errors(errors).facts("ours"),
            **Errors(peaks).facts("peaks"),
        )
        is_met &= median(errors) <= 2 * GOAL
    return is_met


def inside_a_step() -> None:
    """Stand-alone all-reduces against what leaving them out of a step saves: 160 of Llama-70B."""
    points = [
        (2.0 * float(row["BL"]) * float(row["hidden_size"]), float(row["multimem_all_reduce_us"]))
        for row in _rows("tokenweave_figure_4.csv")
    ]
    curve = TimeCurve.of(points, calibration="")
    for row in _rows("tokenweave_figure_11a.csv"):
        tokens = float(row["prompt_len"])
        size = 2 * 8192 * tokens
        if not row["model"].startswith("Llama") or size > curve.sizes[-1]:
            continue
        saved = (float(row["baseline_multimem"]) - float(row["no_ar"])) * 1e3 / 160
        off = curve.predict(size).time_us / saved - 1
        say("inside a step", tokens=int(tokens), standalone_off_percent=round(100 * off, 1))


def _products(row: dict[str, str], device: str) -> Iterator[tuple[Product, float]]:
    if row["device"] != device:
        return
    tp, tokens, hidden, inner, heads, kv_heads = (
        int(row[name]) for name in ("tp", "tokens", "hidden", "intermediate", "heads", "kv_heads")
    )
    head_dim = hidden // heads
    first = (heads + 2 * max(kv_heads, tp)) * head_dim // tp
    up = (2 if row["gated"] == "True" else 1) * inner // tp
    for column, n, k in (
        ("attn_qkv_us", first, hidden),
        ("attn_out_us", hidden, heads * head_dim // tp),
        ("mlp_up_us", up, hidden),
        ("mlp_down_us", hidden, inner // tp),
    ):
        if row[column]:
            yield Product(tokens, n, k), float(row[column])


def _at_peaks(accelerator: Accelerator, product: Product) -> float:
    """The longer of work and reading, as spreadsheets have it."""
    by_rate = product.flops / (accelerator.half_tflops * 1e6)
    by_memory = 2 * product.num_elements / (accelerator.memory_gb_per_s * 1e3)
    return max(by_rate, by_memory)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (MEASURED / name).open() as lines:
        yield from csv.DictReader(line for line in lines if not line.startswith("#"))


def main() -> int:
    """Return 0 where all goals are met."""
    met = [collective_tables(), all_reduce_kernels(), sharded_products()]
    inside_a_step()
    met.append(prediction_here.main() == 0)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
