from fastapi.testclient import TestClient

from service.store.engine import Sessions
from tests.integration.api.measuring import measure_all, register
from workers.contract.point import PointSpec


def step_us(spec: PointSpec) -> float:
    return (100 * spec.batch) / spec.tp_degree + 500 * (spec.tp_degree - 1)


def test_a_probe_then_a_sweep_then_the_answer(client: TestClient, sessions: Sessions) -> None:
    register(sessions)
    asked: dict[str, object] = {"model": "gpt2", "time_s": 120.0}
    plan = client.post("/v1/advice/plan", json=asked).json()
    assert plan["stage"] == "probe"
    probe = client.post("/v1/sweeps", json=plan["sweep"])
    assert probe.status_code == 202, probe.text
    measure_all(sessions, step_us)
    plan = client.post("/v1/advice/plan", json={**asked, "probe": probe.json()["id"]}).json()
    assert plan["stage"] == "sweep", plan
    assert plan["estimated_s"] <= 120
    sweep = client.post("/v1/sweeps", json=plan["sweep"])
    assert sweep.status_code == 202, sweep.text
    measure_all(sessions, step_us)
    found = client.post("/v1/advice", json={"model": "gpt2", "sweep": sweep.json()["id"]})
    assert found.status_code == 200, found.text
    advice = found.json()
    assert len(advice["recommendations"]) == len(plan["sweep"]["batch"])
    assert [one["tp_degree"] for one in advice["curves"]] == [1, 2]
    assert advice["sentences"]


def test_what_cannot_be_advised_on_names_the_field_and_what_would_work(
    client: TestClient, sessions: Sessions
) -> None:
    nobody = client.post("/v1/advice/plan", json={"model": "gpt2"})
    assert "no node was seen yet" in nobody.json()["detail"]
    register(sessions)
    unknown = client.post("/v1/advice/plan", json={"model": "lama-2-7b"})
    assert unknown.status_code == 422
    assert "did you mean llama-2-7b" in unknown.text
    other = client.post("/v1/advice", json={"model": "gpt2", "sweep": "s", "objective": "cheap"})
    assert "'latency' or 'throughput'" in other.text
    missing = client.post("/v1/advice", json={"model": "gpt2", "sweep": "s"})
    assert missing.status_code == 404
