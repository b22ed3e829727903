"""Every way to run a block, pairs, profiles and warm groups, through the API, Ray and the CLI."""

import gzip
import json
from typing import Any

import pytest

from tests.service_process import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHAPE = {"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 8}
EVERY_WAY = {
    "name": "every way to run a layer",
    "models": [SHAPE],
    "blocks": "layer",
    "phase": ["train", "decode"],
    "tp_degree": 2,
    "batch": 4,
    "seq": 4,
    "arrangement": ["column_row", "sequence_parallel", "layer_split"],
    "overlap": ["none", "backward", "chunked"],
    "collective_impl": ["auto", "shared_memory"],
    "replicates": 2,
    "sampling": {"max_time_s": 0.05},
    "profile": True,
}
NUM_WAYS = 12
PAIR = {
    "models": [SHAPE],
    "blocks": "mlp",
    "tp_degree": 2,
    "batch": 4,
    "replicates": 1,
    "group_kind": "regrouped",
    "sampling": {"max_time_s": 0.05},
}
"""In warm processes, which costs no start."""


@pytest.fixture(scope="module")
def ways(client: Client) -> list[Any]:
    sweep = client.finished(client.post("/sweeps", EVERY_WAY)["id"])
    assert sweep["state"] == "succeeded"
    return list(client.command("results", "--sweep", sweep["id"], "--details"))


def test_every_way_to_run_a_layer_is_measured(ways: list[Any]) -> None:
    assert len(ways) == NUM_WAYS
    for result in ways:
        spec = result["spec"]
        is_overlapped = spec["overlap"] != "none"
        timed_in = {item["timed_in"] for item in result["collectives"]}
        assert ("standalone" in timed_in) is is_overlapped
        assert (result["communication_time_us"] is None) is is_overlapped
        assert (result["standalone_communication_us"] is None) is not is_overlapped
        is_stack = spec["arrangement"] == "layer_split"
        assert len((result["idle"] or {"share_by_rank": ()})["share_by_rank"]) == 2 * is_stack
        assert 0 <= result["max_rel_error"] < 1e-12


def test_every_point_says_what_its_host_was_like(ways: list[Any]) -> None:
    for result in ways:
        assert result["control"]["noise_grade"] in "ABCD"
        assert len(result["quality_notes"]) == len(result["quality"])
        assert all(": " in note for note in result["quality_notes"]), "flags in words"
        for trial in result["trials"]:
            assert len(trial["hosts"]) == 2, "one for each rank"
            assert all(host["is_flushing_denormals"] for host in trial["hosts"])


def test_the_first_replicate_of_a_profiled_point_has_a_trace(
    client: Client, ways: list[Any]
) -> None:
    for result in ways:
        first, second = result["trials"]
        assert second["profiled_collective_share"] is None
        assert 0 <= first["profiled_collective_share"] <= 1
    trace = json.loads(gzip.decompress(client.read(f"/trials/{first['id']}/profile")))
    assert any(event.get("name") == "tpsweep.step" for event in trace["traceEvents"])


def test_arrangements_are_told_apart(client: Client, ways: list[Any]) -> None:
    found = client.command("arrangements", ways[0]["sweep_id"])["items"]
    trained = next(block for block in found if block["spec"]["phase"] == "train")
    names = [one["cost"]["arrangement"] for one in trained["arrangements"]]
    assert names == ["column_row", "sequence_parallel"]
    assert "sequence_parallel moves 1.25x the bytes" in " ".join(trained["sentences"])


@pytest.mark.parametrize(
    "pair",
    [
        {"axis": "overlap", "values": ["none", "backward"]},
        {"axis": "arrangement", "values": ["column_row", "row_row"]},
        {"axis": "collective_impl", "values": ["auto", "shared_memory"]},
        {"axis": "dtype", "values": ["float32", "bfloat16"]},
        {"axis": "same"},
    ],
    ids=lambda pair: pair["axis"],
)
def test_two_points_take_turns_in_one_group(client: Client, pair: object) -> None:
    sweep = client.finished(client.post("/sweeps", PAIR | {"pair": pair})["id"])
    assert sweep["state"] == "succeeded"
    (found,) = client.command("pairs", sweep["id"])["pairs"]
    assert found["num_groups"] == 1
    assert {part["name"] for part in found["parts"]} >= {"step_time", "compute"}
    assert all(part["ratio"] > 0 for part in found["parts"])


def test_warm_processes_are_put_beside_fresh_ones(client: Client, ways: list[Any]) -> None:
    warm = EVERY_WAY | {"phase": "train", "arrangement": "column_row", "overlap": "none"}
    warm |= {"group_kind": "regrouped", "collective_impl": "auto", "profile": False}
    sweep = client.finished(client.post("/sweeps", warm)["id"])
    report = client.command("groups", ways[0]["sweep_id"], sweep["id"])
    (point,) = report["points"]
    assert (point["fresh"]["n"], point["regrouped"]["n"]) == (2, 2)
    assert "re-formed groups of warm processes" in report["sentence"]
