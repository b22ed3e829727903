"""The JSON of nccl-tests, and whatever else may come as a file."""

import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.nccl_tests.reading import read
from service.analysis.nccl_tests.table import ELEMENT_BYTES, NcclTestsError, Table

WORDS = [
    *("1024", "256", "float", "sum", "none", "-1", "0", "N/A", "nan", "1e99", "28.56", "...", "#"),
    *("size", "time", "algbw", "busbw", "#wrong", "[1,0]<stdout>:", "all_reduce_perf", "{}"),
]
PHRASES = [
    "9" * 30,
    "\n",
    "\r",
    "\x1b[0m",
    "h:1:2 [0] NCCL INFO x",
    "Rank 0 Pid 1 on a device 0 [0] X",
    "# num_ranks 9",
    "Avg bus bandwidth : 1e9",
    "Avg bus bandwidth : -nan",
    "Avg bus bandwidth : ...",
    "9" * 5000,
    "Rank " + "9" * 5000 + " Pid 1 on a device 0 [0] X",
    "8 2 float sum -1 " + "9" * 400 + " 0.00 0.00 0 12.87 0.00 0.00 0",
    '{"results": [',
    '{"results": [' + "9" * 5000 + "]}",
    "\x00",
    "\ud800",
]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(WORDS + PHRASES)).map(" ".join)
    | st.text()
    | st.binary().map(lambda raw: raw.decode("latin"))
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        reading = read(text.encode("utf-8", "surrogatepass"))
    except NcclTestsError:
        return
    assert all(table.rows for table in reading.tables)


FIELDS = ["size", "count", "type", "redop", "root", "out_of_place", "in_place", "time", "alg_bw"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["nan", "float", ""]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=20,
)


@settings(max_examples=200)
@given(results=st.lists(VALUES), config=VALUES)
def test_any_document_is_read_or_refused(results: list[object], config: object) -> None:
    for document in ({"results": results}, {"results": results, "config": config}):
        with pytest.raises(NcclTestsError):
            read(json.dumps(document).encode())


def test_the_json_of_nccl_tests_is_read_as_its_text() -> None:
    clean = clean_table()
    document = json_of(clean)
    assert read(json.dumps(document).encode()).tables == (clean,)
    document["args"] = ["./alltoallv_perf"]
    with pytest.raises(NcclTestsError, match="alltoallv_perf is not read"):
        read(json.dumps(document).encode())
    document["results"] = []
    with pytest.raises(NcclTestsError, match="/results is empty"):
        read(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"type": "float3"}, "type 'float3'"),
        ({"size": -1}, "/size"),
        ({"out_of_place": {"time": "nan", "alg_bw": 1, "bus_bw": 1}}, "not a number"),
        ({"in_place": {"alg_bw": 1, "bus_bw": 1}}, "neither time nor cpu_time"),
        ({"count": 3}, "size"),
    ],
)
def test_a_wrong_result_of_a_document_is_left_out(change: dict[str, object], reason: str) -> None:
    document = json_of(clean_table())
    results = document["results"]
    assert isinstance(results, list)
    results[4].update(change)
    (skipped,) = read(json.dumps(document).encode()).skipped
    assert skipped.line == 5
    assert reason in skipped.reason


@pytest.mark.parametrize("place", ["size", "count", "root", "time", "nwrong", "nthreads"])
@pytest.mark.parametrize("digits", [19, 400, 5000])
def test_a_number_of_any_length_in_a_document_is_read_or_refused(place: str, digits: int) -> None:
    text = json.dumps(json_of(clean_table()))
    number = "9" * digits
    changed = re.sub(rf'("{place}": )("[^"]*"|[\d.]+|null)', rf"\g<1>{number}", text)
    assert changed != text
    with suppress(NcclTestsError):
        read(changed.encode())


def test_more_ranks_than_there_are_anywhere_are_refused() -> None:
    document = json_of(clean_table())
    document["config"] = {**document["config"], "nthreads": 10**6}  # type: ignore[dict-item]
    with pytest.raises(NcclTestsError, match="4000000 ranks, more than 1048576"):
        read(json.dumps(document).encode())


def clean_table() -> Table:
    path = Path(__file__).parents[3] / "cases" / "nccl-tests" / "h100-sxm-x4.all_reduce.txt"
    (table,) = read(path.read_bytes()).tables
    return table


def json_of(table: Table) -> dict[str, object]:
    """What `-J` would have written beside the text."""

    def placement(size: int, time_us: float | None) -> dict[str, object] | None:
        if time_us is None:
            return None
        algbw = size / time_us / 1e3
        busbw = algbw * table.operation.bus_factor(table.num_ranks)
        return {"time": time_us, "alg_bw": algbw, "bus_bw": busbw, "nwrong": None}

    devices = [
        {"rank": rank, "hostname": "node0", "device_info": table.accelerator}
        for rank in range(table.num_ranks)
    ]
    results = [
        {
            "size": row.message_bytes,
            "count": row.message_bytes // ELEMENT_BYTES[table.dtype],
            "type": table.dtype,
            "redop": "sum",
            "root": "    -1",
            "out_of_place": placement(row.message_bytes, row.out_of_place_us),
            "in_place": placement(row.message_bytes, row.in_place_us),
            "actual_iterations": 20,
            "experiment_name": "",
        }
        for row in table.rows
    ]
    return {
        "version": 3,
        "args": [f"/opt/nccl-tests/build/{table.operation}_perf", "-J", "x.json"],
        "env": ["SECRET=hunter2"],
        "config": {"nthreads": 1, "ngpus": 1, "validation": 1, "devices": devices},
        "results": results,
        "out_of_bounds": {"count": 0, "okay": "true"},
    }
