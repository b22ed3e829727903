"""Layouts and definitions that versions of nccl-tests and rccl-tests have had, by their sources."""

import pytest

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.reading import read
from service.analysis.nccl_tests.table import NcclTestsError, Row, Told

DEVICES = """
# Using devices
#   Rank  0 on  dgx device  0 [0x06] Tesla V100-SXM2-16GB
#   Rank  1 on  dgx device  1 [0x07] Tesla V100-SXM2-16GB
"""
FIRST_VERSION = f"""nThread 1 nGpus 2 minBytes 1 maxBytes 9 step: 2(factor) warmup iters: 5
{DEVICES}
#                                              out-of-place                    in-place
#  bytes  N  type  op  time  algbw  busbw  res  time  algbw  busbw  res
    10000000  2500000  float  sum  0.264  37.88  37.88  2e-07  0.265  37.74  37.74  2e-07
 Out of bounds values : 0 OK
 Avg bus bandwidth    : 37.81
"""
FIRST_BROADCAST = f"""{DEVICES}
#                                              out-of-place
#      bytes             N    type    root     time  algbw  busbw      res
    10000000       2500000   float       0    0.264  37.88  37.88  \tN/A
"""
BROADCAST_2019 = f"""{DEVICES}
#  size  count  type  root  time  algbw  busbw  error  time  algbw  busbw  error
       65536  16384  float  0  16.57  3.96  3.96  0e+00  13.83  4.74  4.74  0e+00
"""
GATHER_2019 = """
#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
    67108864       2097152   float   1568.3   37.44   37.44  0e+00   1560.9   37.62   37.62  0e+00
"""
SCATTER_2019 = """
#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error
    67108864  2097152  float  sum  1568.3  37.44  37.44  0e+00  1560.9  37.62  37.62  0e+00
"""
IN_PLACE_ONLY = f"""{DEVICES}
rccl-tests: Version develop:83d38d9
#                                                              in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong
     8388608       8388608  fp8_e4m3     sum      -1    91.10   92.08   92.08      0
"""
ROW = "1048576  262144  float  sum  -1  28.56   36.71   64.24  0  28.37   36.96   64.68  0\n"


@pytest.mark.parametrize(
    ("text", "operation", "num_ranks", "row"),
    [
        (FIRST_VERSION, "all_reduce", 2, Row(10_000_000, 264.0, 265.0)),
        (FIRST_BROADCAST, "broadcast", 2, Row(10_000_000, 264.0, None)),
        (BROADCAST_2019, "broadcast", 2, Row(65536, 16.57, 13.83)),
        (GATHER_2019, "all_gather", 8, Row(67108864, 1568.3, 1560.9)),
        (SCATTER_2019, "reduce_scatter", 8, Row(67108864, 1568.3, 1560.9)),
        (IN_PLACE_ONLY, "all_reduce", 2, Row(8388608, None, 91.10)),
    ],
)
def test_every_version_is_read(text: str, operation: str, num_ranks: int, row: Row) -> None:
    reading = read(text.encode())
    (table,) = reading.tables
    assert (table.operation, table.num_ranks) == (operation, num_ranks)
    assert table.rows == (row,)
    assert not any("footer" in warning for warning in reading.warnings)


def test_milliseconds_are_told_from_microseconds_without_a_header() -> None:
    row = next(line for line in FIRST_VERSION.split("\n") if " float " in line)
    (table,) = read(row.encode(), Told(num_ranks=2)).tables
    assert table.rows == (Row(10_000_000, 264.0, 265.0),)


def test_a_share_left_out_is_no_excuse_where_no_version_left_it_out() -> None:
    alltoall = GATHER_2019.replace("37.44   37.44", "37.44   32.76")
    with pytest.raises(NcclTestsError, match=r"algbw 37\.44 is not"):
        read(alltoall.encode(), Told(Operation.ALLTOALL))


@pytest.mark.parametrize("name", ["all_reduce_perf", "./build/all_reduce_perf_mpi"])
def test_the_program_names_the_operation(name: str) -> None:
    (table,) = read(f"$ {name} -b 8\n{ROW}".encode(), Told(num_ranks=8)).tables
    assert table.operation == "all_reduce"
    assert not read(f"$ {name} -b 8\n{ROW}".encode(), Told(num_ranks=8)).warnings


@pytest.mark.parametrize("name", ["hypercube", "alltoallv"])
def test_a_program_whose_rows_mean_something_else_is_refused_by_name(name: str) -> None:
    text = f"# Collective test starting: {name}_perf\n{ROW}"
    with pytest.raises(NcclTestsError, match=f"{name}_perf is not read; known are all_reduce"):
        read(text.encode(), Told(num_ranks=8))
    both = f"{text}# Collective test starting: all_reduce_perf\n{ROW}"
    assert len(read(both.encode(), Told(num_ranks=8)).tables) == 1


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("64.24  0 ", "64.24  5e-01* ", "elements came out wrong"),
        ("36.71", "inf", "broken row of size 1048576: 'inf' is no number"),
        ("float", "float6", "element type 'float6' is not one of int8"),
    ],
)
def test_a_row_that_is_left_out_says_which_cell_is_why(old: str, new: str, reason: str) -> None:
    header = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    found = read((header + ROW + ROW.replace(old, new)).encode(), Told(num_ranks=8))
    assert [len(table.rows) for table in found.tables] == [1]
    assert reason in found.skipped[0].reason


def test_ranks_of_a_run_that_printed_no_row_are_not_counted_in_the_next() -> None:
    start = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
    ranks = [
        f"#  Rank {n} Group  0 Pid 7 on node{n % 2} device  0 [0x1] NVIDIA A\n" for n in range(8)
    ]
    text = (
        start
        + "".join(ranks)
        + "NCCL failure\n"
        + start
        + ranks[0]
        + ranks[2]
        + "8 2 float sum -1 "
    )
    row = "12.90 0.00 0.00 0 12.87 0.00 0.00 0\n"
    reading = read((text + row).encode(), Told(Operation.ALL_REDUCE))
    assert (reading.tables[0].num_ranks, reading.tables[0].num_nodes) == (2, 1)
    mixed = start + start + ranks[0] + ranks[0] + "8 2 float sum -1 " + row
    assert "rank 0 is listed again" in read(mixed.encode()).warnings[0]


@pytest.mark.parametrize(("check", "operation"), [("0", "all_reduce"), ("N/A", "sendrecv")])
def test_what_cannot_run_in_place_is_known_by_its_missing_check(check: str, operation: str) -> None:
    cells = "31.51  0.13  0.13"
    text = f"{DEVICES}4096  1024  float  sum  -1  {cells}  0  {cells}  {check}\n"
    reading = read(text.encode())
    assert (reading.tables[0].operation, reading.warnings) == (operation, ())
