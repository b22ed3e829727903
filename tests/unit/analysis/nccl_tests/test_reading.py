"""Files that people published, and every way in which such files come disfigured."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from service.analysis.nccl_tests.export import as_text
from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.reading import read
from service.analysis.nccl_tests.table import ELEMENT_BYTES, NcclTestsError, Row, Table, Told
from tests.unit.analysis.nccl_tests.distortions import (
    DISTORTIONS,
    Distortion,
    is_row,
    with_logs_in_rows,
    without_header,
)

CASES = Path(__file__).parents[3] / "cases" / "nccl-tests"
FILES = sorted(path.name for path in CASES.glob("*.txt"))
CLEAN = [
    "a100-sxm4-40gb-x8.all_gather.superbench.txt",
    "gh200-x8-2node.all_reduce.cscs.good.txt",
    "h100-sxm-x4.all_reduce.txt",
]
"""Old layout of eleven cells; two nodes; wide columns."""


def text_of(name: str) -> str:
    return (CASES / name).read_text()


def only(text: str, told: Told | None = None) -> Table:
    (table,) = read(text.encode(), told).tables
    return table


@pytest.mark.parametrize(
    ("name", "num_ranks", "num_nodes", "num_rows", "num_skipped"),
    [
        ("a100-sxm4-40gb-x8.all_gather.superbench.txt", 8, 1, 29, 5),
        ("a100-sxm4-40gb-x8.all_reduce.superbench.txt", 8, 1, 32, 2),
        ("a40-x2-nv4.all_reduce.txt", 2, None, 4, 0),
        ("b200-x16-2node.all_gather.good.txt", 16, None, 24, 0),
        ("b200-x2-2node.all_gather.dranet-1nic.zero-rows.txt", 2, 2, 26, 2),
        ("gh200-x8-2node.all_reduce.cscs.good.txt", 8, 2, 25, 0),
        ("gh200-x8-2node.all_reduce.cscs.misconfigured.txt", 8, 2, 25, 0),
        ("h100-sxm-x16-2node.all_reduce.gcp-a3mega.txt", 16, None, 31, 0),
        ("h100-sxm-x4.all_reduce.symmetric-graph.txt", 4, 1, 22, 0),
        ("h100-sxm-x4.all_reduce.txt", 4, 1, 31, 0),
        ("h100-sxm-x6.all_reduce.nccl-info-interleaved.txt", 6, 1, 6, 0),
        ("h100-sxm-x8.all_reduce.aws-p5.txt", 8, None, 32, 0),
    ],
)
def test_published_files_are_taken_whole(
    name: str, num_ranks: int, num_nodes: int | None, num_rows: int, num_skipped: int
) -> None:
    reading = read(text_of(name).encode())
    (table,) = reading.tables
    assert f".{table.operation}." in name
    assert (table.num_ranks, table.num_nodes) == (num_ranks, num_nodes)
    assert (len(table.rows), len(reading.skipped)) == (num_rows, num_skipped)
    assert all("size 0" in one.reason for one in reading.skipped)
    assert not any("footer" in warning for warning in reading.warnings)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("distort", DISTORTIONS)
@pytest.mark.parametrize("name", CLEAN)
def test_a_disfigured_file_reads_as_the_clean_one(
    name: str, distort: Distortion, seed: int
) -> None:
    text = text_of(name)
    told = Told(Operation("all_gather" if "all_gather" in name else "all_reduce"), 8)
    if "x4" in name:
        told = Told(told.operation, 4)
    found = only(distort(text, random.Random(seed)), told)
    assert found.rows == only(text).rows


@pytest.mark.parametrize("seed", range(20))
def test_several_disfigurements_at_once_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    inner = [one for one in DISTORTIONS if one.__name__ not in OUTERMOST]
    chosen = rng.sample(inner, 2) + [one for one in DISTORTIONS if one.__name__ in OUTERMOST]
    text = text_of("h100-sxm-x4.all_reduce.txt")
    clean = only(text)
    for distort in chosen:
        text = distort(text, rng)
    names = [one.__name__ for one in chosen]
    assert only(text, Told(num_ranks=4)).rows == clean.rows, names


OUTERMOST = ("with_launcher_prefix", "with_terminal_codes", "with_windows_line_ends")


@pytest.mark.parametrize("name", CLEAN)
@pytest.mark.parametrize("seed", range(5))
def test_rows_that_are_left_out_are_missing_and_said_so(name: str, seed: int) -> None:
    rng = random.Random(seed)
    lines = text_of(name).split("\n")
    rows = [index for index, line in enumerate(lines) if is_row(line) and line.split()[0] != "0"]
    start = rng.choice(rows[:-6])
    lines[start : start + 4] = ["  ..."]
    found = read("\n".join(lines).encode())
    assert any(f"line {start + 1}: rows are left out" in one for one in found.warnings)
    assert any("the footer's mean bus bandwidth" in one for one in found.warnings)
    assert set(found.tables[0].rows) < set(only(text_of(name)).rows)


@pytest.mark.parametrize("name", CLEAN)
@pytest.mark.parametrize("seed", range(5))
def test_a_row_whose_end_is_lost_is_skipped_with_its_line(name: str, seed: int) -> None:
    rng = random.Random(seed)
    lines = text_of(name).split("\n")
    at = rng.choice([index for index, line in enumerate(lines) if is_row(line)][6:])
    words = lines[at].split()
    lines[at] = "  ".join(words[: rng.randint(3, len(words) - 1)])
    found = read("\n".join(lines).encode())
    (broken,) = [one for one in found.skipped if "size 0" not in one.reason]
    assert broken.line == at + 1
    assert f"broken row of size {words[0]}" in broken.reason
    assert len(found.tables[0].rows) == len(only(text_of(name)).rows) - 1


@pytest.mark.parametrize("column", ["size", "time", "algbw", "busbw", "count"])
@pytest.mark.parametrize("seed", range(4))
def test_a_row_that_contradicts_itself_is_refused(column: str, seed: int) -> None:
    rng = random.Random(seed)
    lines = text_of("h100-sxm-x8.all_reduce.aws-p5.txt").split("\n")
    rows = [index for index, line in enumerate(lines) if " float " in line][18:]
    at = rng.choice(rows)
    place = {"size": 1, "count": 2, "time": 6, "algbw": 7, "busbw": 8}[column]
    cells = lines[at].replace("<stdout>:", "<stdout>: ").split()
    cells[place] = f"{float(cells[place]) * rng.choice([0.5, 0.9, 1.1, 3, 1000]):.0f}"
    lines[at] = " ".join(cells)
    found = read("\n".join(lines).encode())
    (refused,) = found.skipped
    assert refused.line == at + 1
    assert any(word in refused.reason for word in ("algbw", "busbw", "size"))
    assert len(found.tables[0].rows) == 31


def test_wrong_results_are_no_results() -> None:
    text = text_of("gh200-x8-2node.all_reduce.cscs.good.txt")
    spoiled = text.replace("1916.4   70.04  122.57      0", "1916.4   70.04  122.57      7")
    (skipped,) = read(spoiled.encode()).skipped
    assert skipped.reason == "7 elements came out wrong"


def test_a_footer_of_other_rows_is_a_warning() -> None:
    text = text_of("a40-x2-nv4.all_reduce.txt").replace("47.4509", "52.98")
    reading = read(text.encode())
    assert len(reading.tables[0].rows) == 4
    assert "52.98" in " ".join(reading.warnings)


def test_several_runs_in_one_log_are_several_tables() -> None:
    names = ["h100-sxm-x4.all_reduce.txt", "a100-sxm4-40gb-x8.all_gather.superbench.txt"]
    both = read("".join(map(text_of, names)).encode())
    assert [(one.operation, one.num_ranks) for one in both.tables] == [
        (Operation.ALL_REDUCE, 4),
        (Operation.ALL_GATHER, 8),
    ]
    assert both.tables == tuple(only(text_of(name)) for name in names)


def test_a_host_whose_name_begins_with_a_digit_does_not_become_part_of_a_number() -> None:
    cut = (
        "  1048576  262144  float  sum  -14xh100:1:1 [0] NCCL INFO a\n4xh100:1:1 [0] NCCL INFO b\n"
        "   28.56   36.71   64.24      04xh100:1:1 [0] NCCL INFO a\n"
        "   28.37   36.96   64.68      0\n"
    )
    assert only(cut).rows == (Row(1048576, 28.56, 28.37),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no row of nccl-tests"),
        ("hello\nworld\n", "no row of nccl-tests"),
        ("   1024   256   float   sum   -1", "broken row of size 1024"),
        ("1024 256 float sum -1 1.0 900.00 900.00 0 1.0 900.00 900.00 0", "not size over time"),
        ("{}", "/results: Field required"),
        ('{"results": []}', "/results is empty"),
        ("{", "line 1: no JSON"),
        ("\x00\x01\x02", "no row of nccl-tests"),
    ],
)
def test_what_holds_no_good_row_is_refused(text: str, expected: str) -> None:
    with pytest.raises(NcclTestsError) as refused:
        read(text.encode(), Told(num_ranks=8))
    assert expected in str(refused.value)


@pytest.mark.parametrize("header", ["", "# num_ranks 0 device NVIDIA H100\n"])
def test_a_row_that_does_not_tell_the_number_of_ranks_asks_for_it(header: str) -> None:
    row = f"{header}8 2 float sum -1 12.90 0.00 0.00 0 12.87 0.00 0.00 0".encode()
    with pytest.raises(NcclTestsError, match="give num_ranks"):
        read(row, Told(operation=Operation.ALL_REDUCE))
    assert read(row, Told(Operation.ALL_REDUCE, num_ranks=4)).tables[0].num_ranks == 4


@pytest.mark.parametrize("name", FILES)
def test_what_is_exported_reads_back_the_same(name: str) -> None:
    table = only(text_of(name))
    again = read(as_text([(table, "as it was")]).encode())
    assert again.tables == (table,)
    assert not again.skipped
    assert not again.warnings


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("num_ranks", [2, 3, 8, 72])
def test_every_operation_is_exported_and_read_back(operation: Operation, num_ranks: int) -> None:
    rng = random.Random(num_ranks)
    shares = num_ranks if operation.is_count_per_rank else 1
    rows: Sequence[Row] = [
        Row(
            4 * shares << power,
            round(10 + 2**power / 1e3, 2),
            None if power % 5 == 0 else rng.choice([11.25, 99.5]),
        )
        for power in range(20)
    ]
    table = Table(operation, "float", num_ranks, 2, "NVIDIA B200", tuple(rows))
    assert only(as_text([(table, "as it was")])) == table


@pytest.mark.parametrize("dtype", ELEMENT_BYTES)
def test_every_element_type_is_read(dtype: str) -> None:
    size = 1000 * ELEMENT_BYTES[dtype]
    algbw = size / 10 / 1e3
    cells = f"10.00 {algbw:.2f} {algbw * 1.75:.2f} 0"
    table = only(f"{size} 1000 {dtype} sum -1 {cells} {cells}", Told(num_ranks=8))
    assert (table.dtype, len(table.rows)) == (dtype, 1)


def test_logs_in_rows_of_a_file_without_header_are_taken_out() -> None:
    text = text_of("h100-sxm-x4.all_reduce.txt")
    rng = random.Random(1)
    cut = with_logs_in_rows(without_header(text, rng), rng)
    assert only(cut).rows == only(text).rows
