from functools import partial

import pytest
from fastapi.testclient import TestClient

from service.store import fleet
from service.store.engine import Sessions
from tests.integration.api.importing import P5, bring
from tests.integration.api.measuring import BODY, NODE, measure_all, register
from workers.contract.point import PointSpec

MINE = "/v1/recommendation?model=pythia-31m&phase=train&dtype=float32&threshold=0.5&seq=1"


def test_results_of_this_service_come_first_and_published_figures_stand_in(
    client: TestClient, sessions: Sessions
) -> None:
    assert client.post("/v1/sweeps", json=BODY).status_code == 202
    measure_all(sessions, lambda spec: 1000 * spec.batch / spec.tp_degree)
    answer = client.get(f"{MINE}&batch=2,100")
    assert answer.status_code == 200
    near, far = answer.json()["items"]
    assert [(one["tp_degree"], one["basis"]) for one in (near, far)] == [(2, "measured")] * 2
    assert "mlp, batch 1, seq 1, float32" in near["sentence"]
    assert "mlp, batch 64, seq 1, float32" in far["sentence"]
    answer = client.get("/v1/recommendation", params={"model": "gpt2", "hardware": "H100 SXM"})
    (one,) = answer.json()["items"]
    assert (one["tp_degree"], one["basis"], one["hardware_key"]) == (1, "predicted", None)


def test_what_cannot_be_answered_names_the_parameter_and_what_is_known(
    client: TestClient, sessions: Sessions
) -> None:
    register(sessions)
    wrong = [
        ({"hardware": "abacus"}, "?hardware", "known are Test CPU, GH200"),
        ({"model": "gpt-5"}, "?model", "is not a known model"),
        ({"batch": "0"}, "?batch", "greater than or equal to 1"),
        ({"objective": "cheapness"}, "?objective", "'latency' or 'throughput'"),
    ]
    for parameters, pointer, says in wrong:
        answer = client.get("/v1/recommendation", params={"model": "gpt2", **parameters})
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["pointer"].startswith(pointer)
        assert says in error["detail"]


def test_curves_brought_in_for_a_hardware_predict_its_collectives(client: TestClient) -> None:
    taken = bring(client, P5.read_bytes())
    assert taken.status_code == 200, taken.text
    answer = client.get(
        "/v1/recommendation", params={"model": "llama-2-70b", "hardware": "h100-sxm"}
    )
    (one,) = answer.json()["items"]
    eight = next(c for c in one["candidates"] if c["tp_degree"] == 8)
    assert eight["basis"] == "predicted"
    assert "nccl-tests" in eight["label"]
    assert one["tp_degree"] in {2, 4, 8}


def test_ranges_are_listed_and_no_hardware_is_said(client: TestClient) -> None:
    items = client.get("/v1/recommendation/ranges").json()["items"]
    assert {"llama-2-7b", "llama-3-405b"} <= {one["model"] for one in items}
    answer = client.get("/v1/recommendation", params={"model": "gpt2"})
    assert answer.status_code == 422
    assert "no hardware was seen yet" in answer.json()["detail"]


@pytest.mark.parametrize(("name", "known_bytes"), [("node-1", 0), ("node-2", 8 << 30)])
def test_a_node_that_could_not_tell_its_memory_rules_nothing_out(
    client: TestClient, sessions: Sessions, name: str, known_bytes: int
) -> None:
    assert client.post("/v1/sweeps", json=BODY).status_code == 202
    measure_all(sessions, lambda spec: 1000 * spec.batch / spec.tp_degree)
    unknown = NODE.model_copy(update={"name": name, "slot_memory_bytes": 0})
    with sessions.writing() as session:
        fleet.register(session, unknown, pool="default")
    (found,) = client.get(f"{MINE}&batch=1").json()["items"]
    assert found["device_memory_bytes"] == known_bytes
    assert found["tp_degree"] == 2


def steps_of(night: int, spec: PointSpec) -> float:
    return (1000 + night) / spec.tp_degree


def test_controls_of_a_schedule_push_out_no_night(client: TestClient, sessions: Sessions) -> None:
    """A control measures the schedule's first point twice by turns, after each night."""
    body = {**BODY, "blocks": ["attention", "mlp"], "batch": 1}
    control = {**body, "blocks": "attention", "tp_degree": 1, "pair": {"axis": "same"}}
    for night in range(3):
        assert client.post("/v1/sweeps", json=body).status_code == 202
        measure_all(sessions, partial(steps_of, night))
        for _ in range(2):
            assert client.post("/v1/sweeps", json=control).status_code == 202
            assert measure_all(sessions, lambda _: 5000) > 0
    (found,) = client.get(f"{MINE}&batch=1").json()["items"]
    one, two = found["candidates"][:2]
    assert [one["basis"], two["basis"]] == ["measured", "measured"]
    assert one["step_time_us"] == pytest.approx(2 * 1001)
    assert two["step_time_us"] == pytest.approx(1001)
    assert "attention + mlp, batch 1" in one["label"]
    assert two["speed_up"]["n"] == 3 * 2
