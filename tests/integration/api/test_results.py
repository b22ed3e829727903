import base64
import json

import pytest
from fastapi.testclient import TestClient

from service.store.engine import Sessions
from tests.integration.api.measuring import BODY, measure_all
from tests.unit.analysis.trials import HARDWARE
from workers.contract.point import PointSpec


def _step_us(spec: PointSpec) -> float:
    return 100.0 * spec.batch / spec.tp_degree


@pytest.fixture
def sweep_id(client: TestClient, sessions: Sessions) -> str:
    answer = client.post("/v1/sweeps", json={**BODY, "tags": {"commit": "abc"}})
    assert measure_all(sessions, _step_us) == 8
    identity = answer.json()["id"]
    assert isinstance(identity, str)
    return identity


def test_a_result_carries_what_the_contract_names(client: TestClient, sweep_id: str) -> None:
    page = client.get("/v1/results", params={"sweep": sweep_id, "tp_degree": 2, "batch": 64})
    (result,) = page.json()["items"]
    assert result["spec"]["tp_degree"] == 2
    assert result["step_time_us"]["median"] == pytest.approx(3200, rel=0.01)
    assert result["step_time_us"]["n"] == result["num_replicates"] == 2
    assert result["exposed_communication_us"] == pytest.approx(640, rel=0.02)
    assert 0 < result["communication_share"] < 1
    assert [one["count_per_step"] for one in result["collectives"]] == [1, 1]
    assert result["hardware"]["accelerator"] == HARDWARE.accelerator
    assert result["samples_us"] is None
    assert result["trials"] is None


def test_several_keys_stand_with_commas_or_are_repeated(client: TestClient, sweep_id: str) -> None:
    for several in (f"{sweep_id},no-such", [sweep_id, "no-such"]):
        page = client.get("/v1/results", params={"sweep": several}).json()
        assert len(page["items"]) == 4


FILTERS: list[tuple[dict[str, str | list[str]], int]] = [
    ({}, 4),
    ({"tp_degree": "1,2"}, 4),
    ({"tp_degree": ["1", "2"], "batch": "1"}, 2),
    ({"block": "attention"}, 0),
    ({"block": "mlp", "phase": "train", "dtype": "float32", "seq": "1"}, 4),
    ({"arrangement": "column_row", "collective_impl": "backend", "overlap": "none"}, 4),
    ({"model": "pythia-31m"}, 4),
    ({"model": "gpt2"}, 0),
    ({"hardware": HARDWARE.accelerator}, 4),
    ({"hardware": HARDWARE.hardware_key}, 4),
    ({"hardware": "H100"}, 0),
    ({"node": "node-1"}, 4),
    ({"node": "node-2"}, 0),
    ({"tag": "commit=abc"}, 4),
    ({"tag": "commit=other"}, 0),
    ({"tag": ["commit=abc", "night=1"]}, 0),
    ({"version": "torch=2.13.0"}, 4),
    ({"version": ["torch=2.13.0", "python=2.7"]}, 0),
    ({"since": "2020-01-01T00:00:00Z"}, 4),
    ({"until": "2020-01-01T00:00:00Z"}, 0),
    ({"sweep": "no-such"}, 0),
    ({"launch": "eager", "tp_degree": "2", "batch": "1"}, 1),
    ({"launch": "cuda_graph"}, 0),
]


@pytest.mark.usefixtures("sweep_id")
def test_results_are_filtered_by_every_axis_and_where_they_came_from(client: TestClient) -> None:
    for parameters, count in FILTERS:
        answer = client.get("/v1/results", params=parameters)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["items"]) == count, parameters


def test_pages_hold_every_result_once(client: TestClient, sweep_id: str) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        parameters = {"sweep": sweep_id, "limit": "3"} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/results", params=parameters).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 4


@pytest.mark.parametrize("position", [1 << 31, 1 << 70])
def test_a_cursor_that_was_changed_is_refused(
    client: TestClient, sweep_id: str, position: int
) -> None:
    asked = {"sweep": sweep_id, "limit": "1"}
    cursor = client.get("/v1/results", params=asked).json()["next_cursor"]
    *rest, _ = json.loads(base64.urlsafe_b64decode(cursor + "==="))
    changed = base64.urlsafe_b64encode(json.dumps([*rest, position]).encode()).decode()
    answer = client.get("/v1/results", params={**asked, "cursor": changed.rstrip("=")})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")


def test_one_result_shows_its_trials_and_samples_only_when_asked(
    client: TestClient, sweep_id: str
) -> None:
    (listed,) = client.get(
        "/v1/results", params={"sweep": sweep_id, "tp_degree": 2, "batch": 1}
    ).json()["items"]
    path = f"/v1/results/{listed['id']}"
    result = client.get(path).json()
    assert [trial["replicate"] for trial in result["trials"]] == [0, 1]
    assert result["trials"][0]["samples"] is None
    detailed = client.get(path, params={"include": "samples"}).json()
    assert len(detailed["samples_us"]) == 10
    assert {one["rank"] for one in detailed["trials"][0]["samples"]} == {0, 1}


def test_a_result_that_is_not_there_is_404(client: TestClient) -> None:
    assert client.get("/v1/results/no-such").json()["code"] == "not_found"


def test_two_sweeps_are_compared_point_by_point(
    client: TestClient, sessions: Sessions, sweep_id: str
) -> None:
    wider = {**BODY, "batch": [1, 64, 128]}
    candidate = client.post("/v1/sweeps", json=wider).json()["id"]
    measure_all(sessions, lambda spec: 2 * _step_us(spec))
    parameters = {"baseline": sweep_id, "candidate": candidate}
    comparison = client.get("/v1/compare", params=parameters).json()
    assert comparison["overall"]["ratio"] == pytest.approx(2, rel=0.01)
    assert comparison["overall"]["verdict"] == "slower"
    assert len(comparison["points"]) == 4
    assert len(comparison["unmatched_candidate"]) == 2
    assert comparison["unmatched_baseline"] == []


def test_comparing_needs_two_sweeps_that_exist(client: TestClient, sweep_id: str) -> None:
    missing = client.get("/v1/compare", params={"baseline": sweep_id})
    assert missing.status_code == 422
    assert missing.json()["errors"][0]["pointer"] == "?candidate"
    absent = client.get("/v1/compare", params={"baseline": sweep_id, "candidate": "x"})
    assert absent.json()["code"] == "not_found"


def test_break_even_is_reported_for_each_series(client: TestClient, sweep_id: str) -> None:
    (line,) = client.get("/v1/breakeven", params={"sweep": sweep_id}).json()["items"]
    assert (line["tp_degree"], line["block"]) == (2, "mlp")
    assert line["sentence"]
    elsewhere = {"sweep": sweep_id, "hardware": "H100"}
    assert client.get("/v1/breakeven", params=elsewhere).json()["items"] == []
    assert client.get("/v1/breakeven", params={"sweep": "x"}).json()["code"] == "not_found"


@pytest.mark.usefixtures("sweep_id")
def test_nodes_are_listed_as_they_were_seen(client: TestClient) -> None:
    (node,) = client.get("/v1/nodes").json()["items"]
    assert (node["name"], node["num_slots"]) == ("node-1", 4)
    assert node["hardware_key"] == HARDWARE.hardware_key
    assert node["last_seen_at"] >= node["first_seen_at"]


def test_models_are_listed_with_their_sources(client: TestClient) -> None:
    models = {one["name"]: one for one in client.get("/v1/models").json()["items"]}
    assert models["llama-2-70b"]["shape"]["num_key_value_heads"] == 8
    assert all(one["source"] for one in models.values())
