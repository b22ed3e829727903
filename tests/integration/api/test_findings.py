"""Findings over HTTP."""

from datetime import UTC, datetime

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from service.store.engine import Sessions
from service.watch.judge import Judge
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode


@pytest.fixture
def finding_id(engine: Engine, client: TestClient) -> str:
    """Twenty quiet nights, seven slow ones by 6 %, judged."""
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    nights = Nights(Sessions(engine, clock=clock), clock)
    rng = np.random.default_rng(3)
    for number in range(27):
        if number == 20:
            nights.schedule()
        slower = 1.06 if number >= 20 else 1.0
        step_us = 100 * slower * (1 + 0.005 * rng.standard_normal())
        nights.measure({"a": OfNode((step_us,), 50.0)})
    assert Judge(nights.sessions).look() == 7
    (found,) = client.get("/v1/findings").json()["items"]
    assert isinstance(found["id"], str)
    return found["id"]


def test_a_finding_answers_every_question(client: TestClient, finding_id: str) -> None:
    found = client.get(f"/v1/findings/{finding_id}").json()
    assert (found["state"], found["cause"], found["policy"]) == ("confirmed", "code", "nightly")
    assert found["effect_relative"] == pytest.approx(0.06, abs=0.01)
    assert found["smallest_p"] < 1e-3
    assert found["detector_version"] >= 1
    assert found["parameters"]["largest_p"] == 1e-3
    assert "slower on a" in found["sentence"]
    assert found["last_good"]["at"] < found["night"]["at"]
    assert [one["state"] for one in found["changes"]] == ["suspect", "confirmed"]


def test_its_command_measures_the_case_anew(client: TestClient, finding_id: str) -> None:
    found = client.get(f"/v1/findings/{finding_id}").json()
    body = found["reproduce"].removeprefix("echo '").partition("' | tpsweep submit - --wait")[0]
    headers = {"Content-Type": "application/json"}
    preview = client.post("/v1/sweeps/preview", content=body, headers=headers)
    assert preview.status_code == 200, preview.text
    result = client.get(f"/v1/results?sweep={found['night']['sweep_id']}").json()["items"][0]
    assert preview.json()["points"][0] == result["spec"]


def test_it_is_dismissed_and_the_policy_knows(client: TestClient, finding_id: str) -> None:
    path = f"/v1/findings/{finding_id}"
    wrong = client.post(f"{path}/dismiss", json={"dismissal": "withdrawn", "reason": "x"})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/dismissal")
    (policy,) = client.get("/v1/policies").json()["items"]
    assert (policy["num_confirmed"], policy["precision"]) == (1, None)
    body = {"dismissal": "false_positive", "reason": "a backup ran"}
    assert client.post(f"{path}/dismiss", json=body).json()["dismissal"] == "false_positive"
    again = client.post(f"{path}/fix", json={"reason": "x"})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    (policy,) = client.get("/v1/policies").json()["items"]
    assert (policy["num_decided"], policy["precision"]) == (1, 0.0)
    assert client.post(f"{path}/reopen", json={"reason": "no"}).json()["state"] == "confirmed"


def test_the_list_is_filtered(client: TestClient, finding_id: str) -> None:
    def ids(query: str) -> list[str]:
        return [one["id"] for one in client.get(f"/v1/findings?{query}").json()["items"]]

    assert ids("state=confirmed,suspect&cause=code&policy=nightly&kind=level") == [finding_id]
    assert (
        ids("state=dismissed")
        == ids("cause=link")
        == ids("kind=flaky,missing")
        == ids("policy=x")
        == []
    )
    assert client.get("/v1/findings?state=x").status_code == 422
    assert client.get("/v1/findings/x").status_code == 404


def test_the_fleet_is_shown_night_by_night(client: TestClient, finding_id: str) -> None:
    assert finding_id
    (fleet,) = client.get("/v1/fleet?nights=12").json()["items"]
    assert (fleet["policy"], fleet["basis"], len(fleet["nights"])) == ("nightly", "own_past", 12)
    (node,) = fleet["nodes"]
    assert (node["node"], len(node["scores"]), node["missing_since"]) == ("a", 12, None)
    assert node["noise_grade"] == "A"
    assert client.get("/v1/fleet?policy=x").status_code == 404
    assert client.get("/v1/fleet?nights=4").status_code == 422
