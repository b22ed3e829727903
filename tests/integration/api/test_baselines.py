"""Baselines and fingerprints over HTTP."""

import pytest
from fastapi.testclient import TestClient

from service.api.examples.schedules import SCHEDULES
from service.store.engine import Sessions
from tests.integration.api.measuring import BODY, NODE, measure_all


def test_a_baseline_from_its_beginning_to_its_end(client: TestClient) -> None:
    sweep_id = client.post("/v1/sweeps", json=BODY).json()["id"]
    pinned = client.post("/v1/baselines", json={"name": "good", "sweep": sweep_id})
    assert pinned.status_code == 201, pinned.text
    assert pinned.headers["Location"] == "/v1/baselines/good"
    assert client.get("/v1/baselines").json()["items"] == [pinned.json()]
    change = {"name": "best", "note": "as shipped", "expires_at": "2099-01-01T00:00:00Z"}
    changed = client.patch("/v1/baselines/good", json=change).json()
    assert (changed["name"], changed["note"], changed["sweep_id"]) == (
        "best",
        "as shipped",
        sweep_id,
    )
    kept = client.patch("/v1/baselines/best", json={"note": ""}).json()
    assert kept["expires_at"] == changed["expires_at"]
    unbounded = client.patch("/v1/baselines/best", json={"expires_at": None}).json()
    assert unbounded["expires_at"] is None
    assert client.get("/v1/baselines/good").status_code == 404
    assert client.delete("/v1/baselines/best").status_code == 204
    assert client.get(f"/v1/sweeps/{sweep_id}/baselines").json()["candidates"] == []


def test_a_comparison_takes_a_baselines_name(client: TestClient, sessions: Sessions) -> None:
    before = client.post("/v1/sweeps", json=BODY).json()["id"]
    measure_all(sessions, lambda _: 100.0)
    after = client.post("/v1/sweeps", json=BODY).json()["id"]
    measure_all(sessions, lambda _: 200.0)
    client.post("/v1/baselines", json={"name": "good", "sweep": before})
    which = {"baseline": "good", "candidate": after}
    report = client.get("/v1/compare", params=which).json()
    assert (report["baseline"], report["overall"]["verdict"]) == ("good", "slower")
    absent = client.get("/v1/compare", params={**which, "baseline": "bad"})
    assert absent.json()["detail"] == "there is no sweep and no baseline 'bad'"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"name": "a/b"}, "/name"), ({"expires_at": "2020-01-01T00:00:00Z"}, "/expires_at")],
)
def test_what_is_wrong_is_named(
    client: TestClient, changes: dict[str, object], pointer: str
) -> None:
    answer = client.post("/v1/baselines", json={"name": "a", "sweep": "x", **changes})
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_schedule_is_held_against_a_baseline_that_exists(client: TestClient) -> None:
    asked = {**dict(SCHEDULES["nightly"].get("value") or {}), "baseline": "good"}
    refused = client.post("/v1/schedules", json=asked)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/baseline"
    sweep_id = client.post("/v1/sweeps", json=BODY).json()["id"]
    client.post("/v1/baselines", json={"name": "good", "sweep": sweep_id})
    assert client.post("/v1/schedules", json=asked).status_code == 201
    assert client.delete("/v1/baselines/good").json()["code"] == "conflict"


def test_keys_are_shown_field_by_field(client: TestClient, sessions: Sessions) -> None:
    sweep_id = client.post("/v1/sweeps", json=BODY).json()["id"]
    measure_all(sessions, lambda _: 100.0)
    point = client.get(f"/v1/sweeps/{sweep_id}/points").json()["items"][-1]
    report = client.get(f"/v1/fingerprints/{point['spec_key']}").json()
    assert (report["kind"], report["version"]) == ("spec", "p1")
    shown = {one["field"]: (one["value"], one["is_hashed"]) for one in report["fields"]}
    assert shown["batch"] == (point["spec"]["batch"], True)
    assert shown["model.hidden_size"] == (256, True)
    assert shown["model.name"] == ("pythia-31m", False)
    assert shown["method_version"] == (1, True)
    hardware = client.get(f"/v1/fingerprints/{NODE.hardware.hardware_key}").json()
    assert hardware["kind"] == "hardware"
    named = {one["field"]: one["value"] for one in hardware["fields"]}
    assert named["accelerator"] == NODE.hardware.accelerator
    assert client.get("/v1/fingerprints/p1:00").json()["code"] == "not_found"
