"""What benchmarks here have in common: variants interleaved ABBA, ratios for each round; lines."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from scipy.stats import binom


def abba(run_a: Callable[[], float], run_b: Callable[[], float], *, repeats: int) -> list[float]:
    """Ratio of A to B for each of `repeats` quads A B B A."""
    return ratios_of(there_and_back({"a": run_a, "b": run_b}, repeats=repeats), "a", "b")


def there_and_back(
    runs: Mapping[str, Callable[[], float]], *, repeats: int
) -> list[dict[str, float]]:
    """What each took in rounds A B C C B A, both times together, so that linear drift cancels."""
    rounds = []
    for _ in range(repeats):
        took = dict.fromkeys(runs, 0.0)
        for name in (*runs, *reversed(tuple(runs))):
            took[name] += runs[name]()
        rounds.append(took)
    return rounds


def ratios_of(rounds: Sequence[Mapping[str, float]], one: str, other: str) -> list[float]:
    """One to the other, for each round."""
    return [each[one] / each[other] for each in rounds]


def report(name: str, ratios: Sequence[float], **facts: object) -> float:
    """Print one JSON line: median ratio, its 95 % interval, spread. Return the median."""
    middle = median(ratios)
    low, high = median_interval(ratios)
    say(
        name,
        **facts,
        median_ratio=round(middle, 4),
        ci_low=round(low, 4),
        ci_high=round(high, 4),
        lowest=round(min(ratios), 4),
        highest=round(max(ratios), 4),
        repeats=len(ratios),
    )
    return middle


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """At least 95 % for the median by order statistics, which ask nothing of the distribution.

    With fewer than six values none reaches 95 %; then the whole range is returned.
    """
    ordered = sorted(values)
    outside = max(0, int(binom.ppf(0.025, len(ordered), 0.5)) - 1)
    return ordered[outside], ordered[-1 - outside]


def say(benchmark: str, **facts: object) -> None:
    """Print one JSON line."""
    sys.stdout.write(json.dumps({"benchmark": benchmark, **facts}) + "\n")
    sys.stdout.flush()
