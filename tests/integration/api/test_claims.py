from fastapi.testclient import TestClient

from service.store.engine import Sessions
from tests.integration.api.measuring import BODY, measure_all


def test_claims_say_what_was_measured_and_what_was_not(
    client: TestClient, sessions: Sessions
) -> None:
    before = {one["number"]: one for one in client.get("/v1/claims").json()["items"]}
    assert len(before) == 30
    assert before[1]["measured"] == before[16]["measured"] == "not measured here yet"
    assert before[5]["measured"] is None
    assert client.post("/v1/sweeps", json=BODY).status_code == 202
    measure_all(sessions, lambda spec: 1000 * spec.batch / spec.tp_degree)
    after = {one["number"]: one for one in client.get("/v1/claims").json()["items"]}
    assert after[1]["measured"] == "2 counted in each of 4 trials"
    assert after[27]["measured"].startswith("pythia-31m mlp train, tp_degree 2: ")
    assert after[5] == before[5]
