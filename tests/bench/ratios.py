"""What benchmarks here have in common: A and B interleaved ABBA, a ratio for each quad; lines."""

import json
import sys
from collections.abc import Callable, Sequence
from statistics import median


def abba(run_a: Callable[[], float], run_b: Callable[[], float], *, repeats: int) -> list[float]:
    """Ratio of A to B for each of `repeats` quads A B B A, so that linear drift cancels."""
    quads = []
    for _ in range(repeats):
        first, second, third, fourth = run_a(), run_b(), run_b(), run_a()
        quads.append((first + fourth) / (second + third))
    return quads


def report(name: str, ratios: Sequence[float], **facts: object) -> float:
    """Print one JSON line with the median ratio and its spread; return the median."""
    middle = median(ratios)
    say(
        name,
        **facts,
        median_ratio=round(middle, 4),
        lowest=round(min(ratios), 4),
        highest=round(max(ratios), 4),
        repeats=len(ratios),
    )
    return middle


def say(benchmark: str, **facts: object) -> None:
    """Print one JSON line."""
    sys.stdout.write(json.dumps({"benchmark": benchmark, **facts}) + "\n")
    sys.stdout.flush()
