"""How often the 95 % interval of a break-even holds the true batch: `python -m` this module.

1,000 draws for each machine, question and number of replicates; every line should show 93 to 97 %.
"Cannot tell" claims nothing and is not counted; its share stands beside.
"""

import sys

import numpy as np

from service.analysis.breakeven import compute_overtakes, pays_from
from service.analysis.crossing import Crossing, Outcome
from tests.unit.analysis.synthetic import SCENARIOS, Scenario, draw, holds

NUM_DRAWS = 1000
REPLICATES = (3, 5, 10)


def main() -> int:
    """Print one line for each; 0 where all are good."""
    are_good = []
    for scenario in SCENARIOS:
        for num_replicates in REPLICATES:
            rng = np.random.default_rng(num_replicates)
            found = [_both(scenario, num_replicates, rng) for _ in range(NUM_DRAWS)]
            for question, crossings in zip(
                ("compute overtakes", "two ranks pay"), zip(*found, strict=True), strict=True
            ):
                line, is_good = _line(crossings, scenario.machine.break_even)
                are_good.append(is_good)
                sys.stdout.write(f"{scenario.name}, {num_replicates}, {question}: {line}\n")
                sys.stdout.flush()
    return 0 if all(are_good) else 1


def _both(
    scenario: Scenario, num_replicates: int, rng: np.random.Generator
) -> tuple[Crossing | None, Crossing | None]:
    seen = draw(scenario, num_replicates=num_replicates, rng=rng)
    return compute_overtakes(seen.two), pays_from(seen.two, smaller_degree=seen.alone)


def _line(crossings: tuple[Crossing | None, ...], truth: float) -> tuple[str, bool]:
    claims = [found for found in crossings if found and found.outcome is not Outcome.CANNOT_TELL]
    held = float(np.mean([holds(found, truth) for found in claims]))
    silent = 1 - len(claims) / len(crossings)
    is_good = 0.93 <= held <= 0.97
    verdict = "good" if is_good else "BAD"
    return f"holds {truth:.1f} in {held:.1%}, cannot tell {silent:.1%} {verdict}", is_good


if __name__ == "__main__":
    sys.exit(main())
