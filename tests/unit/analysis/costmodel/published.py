"""Published tables as the cost model takes them."""

from functools import cache
from pathlib import Path

from service.analysis.nccl_tests.reading import read
from service.analysis.nccl_tests.table import Table

CASES = Path(__file__).parents[3] / "cases" / "nccl-tests"
UNSOUND = "gh200-x8-2node.all_reduce.cscs.misconfigured.txt"
NAMES = sorted(path.name for path in CASES.glob("*.txt"))
SOUND = [name for name in NAMES if name != UNSOUND]
IN_A_NODE = [name for name in SOUND if "2node" not in name]

Points = list[tuple[float, float]]


@cache
def table(name: str) -> Table:
    (found,) = read((CASES / name).read_bytes()).tables
    return found


def placements(name: str) -> dict[str, Points]:
    rows = table(name).rows
    return {
        "out of place": [(row.message_bytes, row.out_of_place_us or 0.0) for row in rows],
        "in place": [(row.message_bytes, row.in_place_us or 0.0) for row in rows],
    }


def as_torch_calls_it(name: str) -> Points:
    """An all-reduce works in place, a gather does not."""
    return placements(name)["in place" if "all_reduce" in name else "out of place"]


def faster(name: str) -> tuple[list[int], list[float]]:
    """Sizes, and the time of the placement that was not disturbed."""
    rows = table(name).rows
    times = [min(row.out_of_place_us or 1e30, row.in_place_us or 1e30) for row in rows]
    return [row.message_bytes for row in rows], times
