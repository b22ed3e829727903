import re
from pathlib import Path

import pytest

from workers.contract.axes import Collective
from workers.contract.bandwidth import algbw_gb_per_s, bus_factor, busbw_gb_per_s

CASES = Path(__file__).parents[2] / "cases" / "nccl-tests"

# size, count, type, redop, root, time, algbw, busbw; redop and root are absent for gathers
ROW = re.compile(r"^(?:\S+:)?\s+(\d+)\s+\d+\s+float(?:\s+sum)?(?:\s+-1)?((?:\s+[\d.]+){3})\s")


def rows(name: str) -> list[tuple[int, float, float, float]]:
    found = []
    for line in (CASES / name).read_text().splitlines():
        if (match := ROW.match(line)) and int(match[1]) > 0:
            time_us, algbw, busbw = map(float, match[2].split())
            found.append((int(match[1]), time_us, algbw, busbw))
    return found


@pytest.mark.parametrize(
    ("name", "collective", "num_ranks", "num_rows"),
    [
        ("a40-x2-nv4.all_reduce.txt", Collective.ALL_REDUCE, 2, 4),
        ("h100-sxm-x8.all_reduce.aws-p5.txt", Collective.ALL_REDUCE, 8, 32),
        ("a100-sxm4-40gb-x8.all_gather.superbench.txt", Collective.ALL_GATHER, 8, 29),
    ],
)
def test_bandwidths_are_those_that_nccl_tests_printed(
    name: str, collective: Collective, num_ranks: int, num_rows: int
) -> None:
    """To the last digit printed: two decimals, times with four significant figures."""
    table = rows(name)
    assert len(table) == num_rows
    for size, time_us, algbw, busbw in table:
        ours = algbw_gb_per_s(message_bytes=size, time_us=time_us)
        assert ours == pytest.approx(algbw, rel=0.001, abs=0.006)
        ours = busbw_gb_per_s(collective, message_bytes=size, time_us=time_us, num_ranks=num_ranks)
        assert ours == pytest.approx(busbw, rel=0.001, abs=0.006)


def test_one_rank_moves_nothing() -> None:
    for collective in Collective:
        assert bus_factor(collective, num_ranks=1) == 0


def test_reduce_scatter_and_all_gather_are_the_two_halves_of_an_all_reduce() -> None:
    for n in range(2, 65):
        halves = [Collective.REDUCE_SCATTER, Collective.ALL_GATHER]
        total = sum(bus_factor(half, num_ranks=n) for half in halves)
        assert total == pytest.approx(bus_factor(Collective.ALL_REDUCE, num_ranks=n))
