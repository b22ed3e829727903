"""The real thing: API, dispatcher and Ray as processes, sweeps over HTTP, then over the CLI.

First every block one way, then one block every way.
"""

import gzip
import json
from typing import Any

import pytest

from tests.service_process import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHAPE = {"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 8}
SWEEP = {
    "name": "end to end",
    "models": [SHAPE],
    "blocks": ["mlp", "attention", "layer"],
    "phase": ["train", "prefill"],
    "tp_degree": [1, 2, 3],
    "batch": 8,
    "seq": 4,
    "replicates": 2,
    "sampling": {"max_time_s": 0.05},
    "tags": {"purpose": "test"},
}
NUM_POINTS = 3 * 2 * 2
EXPECTED_COLLECTIVES = {
    ("mlp", "train"): 2,
    ("attention", "train"): 2,
    ("layer", "train"): 4,
    ("mlp", "prefill"): 1,
    ("attention", "prefill"): 1,
    ("layer", "prefill"): 2,
}

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
def sweep(client: Client) -> Any:  # noqa: ANN401 - JSON
    return client.finished(client.post("/sweeps", SWEEP)["id"])


@pytest.fixture(scope="module")
def results(client: Client, sweep: Any) -> list[Any]:  # noqa: ANN401 - JSON
    listed = client.get("/results", sweep=sweep["id"], limit=200)["items"]
    return [client.get(f"/results/{item['id']}", include="samples") for item in listed]


def test_every_point_that_can_be_sharded_is_measured(sweep: Any, results: list[Any]) -> None:  # noqa: ANN401
    assert sweep["state"] == "succeeded"
    assert sweep["num_points"] == len(results) == NUM_POINTS
    assert sweep["num_rejected"] == NUM_POINTS // 2, "three ranks divide neither 8 heads nor 256"


def test_the_collectives_of_each_step_were_counted(results: list[Any]) -> None:
    for result in results:
        spec = result["spec"]
        expected = EXPECTED_COLLECTIVES[spec["block"], spec["phase"]]
        counted = sum(item["count_per_step"] for item in result["collectives"])
        assert counted == (expected if spec["tp_degree"] == 2 else 0)
        for item in result["collectives"]:
            assert item["op"] == "all_reduce"
            assert item["message_bytes"] == spec["batch"] * spec["seq"] * 64 * 4
            assert item["time_us"] > 0
            assert item["wait_us"] >= 0
            assert item["busbw_gb_per_s"] == pytest.approx(item["algbw_gb_per_s"])


def test_the_numbers_agree_with_the_unsharded_twin(results: list[Any]) -> None:
    for result in results:
        assert 0 <= result["max_rel_error"] < 1e-12, "float64 on a CPU"


def test_the_figures_are_plausible(results: list[Any]) -> None:
    for result in results:
        step, spec = result["step_time_us"], result["spec"]
        assert 0 < step["p10"] <= step["median"] <= step["p90"]
        assert 0 < step["ci_low"] <= step["median"] <= step["ci_high"]
        assert step["n"] == result["num_replicates"] == 2
        assert result["forward_time_us"] > 0
        assert (result["backward_time_us"] > 0) is (spec["phase"] == "train")
        assert result["compute_time_us"] > 0
        assert 0 <= result["communication_share"] <= 1
        assert result["peak_memory_bytes"] > 0
        if spec["tp_degree"] == 1:
            assert result["communication_share"] == 0
            assert result["communication_time_us"] == 0


def test_ranks_are_not_niced_by_whoever_started_them(results: list[Any]) -> None:
    assert {result["environment"]["niceness"] for result in results} == {0}
    assert not any("low_priority" in result["quality"] for result in results)


def test_raw_samples_of_every_rank_and_pass_are_kept(results: list[Any]) -> None:
    for result in results:
        assert len(result["trials"]) == 2
        assert len({trial["group_id"] for trial in result["trials"]}) == 2, "fresh processes"
        for trial in result["trials"]:
            passes = {(item["pass_name"], item["rank"]) for item in trial["samples"]}
            both = result["spec"]["tp_degree"] == 2
            assert len(passes) == (2 * 5 if both else 2), "controls among them"


@pytest.fixture(scope="module")
def again(
    client: Client,
    sweep: Any,  # noqa: ANN401, ARG001 - JSON; it is to come first
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:  # noqa: ANN401 - JSON
    """The same points once more, through the command line."""
    path = tmp_path_factory.mktemp("command") / "sweep.json"
    path.write_text(json.dumps(SWEEP | {"name": "by command", "replicates": 1}))
    submitted = client.command("submit", str(path))
    watched = client.command("watch", submitted["id"])
    assert "succeeded" in json.dumps(watched)
    return submitted


def test_the_same_through_the_command_line(client: Client, again: Any) -> None:  # noqa: ANN401 - JSON
    shown = client.command("results", "--sweep", again["id"])
    assert len(shown["items"]) == NUM_POINTS


def test_a_sweep_is_compared_with_its_repetition(client: Client, sweep: Any, again: Any) -> None:  # noqa: ANN401
    report = client.get("/compare", baseline=sweep["id"], candidate=again["id"])
    assert len(report["points"]) == NUM_POINTS
    assert all(point["ratio"] > 0 for point in report["points"])


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
        share = first["profiled_collective_share"]
        if result["spec"]["collective_impl"] == "backend":
            assert 0 <= share <= 1
        else:
            assert share is None, "the profiler does not know its collectives"
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
