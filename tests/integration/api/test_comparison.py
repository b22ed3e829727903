"""Comparing anything with anything over HTTP."""

import pytest
from fastapi.testclient import TestClient

from service.store.engine import Sessions
from tests.integration.api.measuring import BODY, claim, complete, fail, measure_all
from tests.narrowing import block_of

OLD, NEW = "tag:commit=old", "tag:commit=new"


@pytest.fixture
def measured(client: TestClient, sessions: Sessions) -> list[str]:
    """Two commits, the new one of three batches, twice as slow, with a point that fails."""
    old = client.post("/v1/sweeps", json={**BODY, "tags": {"commit": "old"}}).json()["id"]
    measure_all(sessions, lambda _: 100.0)
    asked = {**BODY, "batch": [1, 64, 128], "tags": {"commit": "new"}}
    new = client.post("/v1/sweeps", json=asked).json()["id"]
    while lease := claim(sessions):
        if (block_of(lease.spec).batch, lease.spec.tp_degree) == (64, 2):
            fail(sessions, lease)
        else:
            complete(sessions, lease, 200.0)
    return [old, new]


def test_sides_may_be_anything(client: TestClient, sessions: Sessions, measured: list[str]) -> None:
    del sessions
    found = client.get("/v1/compare", params={"baseline": OLD, "candidate": f"{NEW} batch:1,128"})
    assert found.status_code == 200, found.text
    report = found.json()
    assert (report["overall"]["verdict"], report["candidate"]) == (
        "slower",
        "tag:commit=new batch:1,128",
    )
    assert report["coverage"] == {
        "common": 2,
        "only_baseline": 2,
        "only_candidate": 2,
        "failed_baseline": 0,
        "failed_candidate": 0,
    }
    body = {"baseline": {"sweep": measured[0]}, "candidate": {"tag": {"commit": "new"}}}
    asked = client.post("/v1/compare", json=body).json()
    assert asked["overall"]["ratio"] == pytest.approx(2, rel=0.01)
    (failed,) = asked["failed_candidate"]
    assert (failed["spec"]["batch"], failed["spec"]["tp_degree"]) == (64, 2)
    days = "since:2020-01-01..2099-01-01 node:node-1 version:torch=2.13.0"
    same = client.get(
        "/v1/compare", params={"baseline": f"{days} {OLD}", "candidate": f"{days} {OLD}"}
    ).json()
    assert same["overall"]["verdict"] == "same"
    assert same["is_interleaved"]


def test_sides_that_differ_in_what_they_are_need_leave(
    client: TestClient, measured: list[str]
) -> None:
    del measured
    sides = {"baseline": f"{OLD} tp_degree:1", "candidate": f"{OLD} tp_degree:2"}
    refused = client.get("/v1/compare", params=sides)
    assert (refused.status_code, refused.json()["code"]) == (422, "not_comparable")
    assert refused.json()["errors"] == [
        {
            "pointer": "?allow_different",
            "detail": "tp_degree: 1 against 2; allow_different=tp_degree lets it differ",
        }
    ]
    allowed = client.get("/v1/compare", params={**sides, "allow_different": "tp_degree"})
    assert allowed.json()["coverage"]["common"] == 2


@pytest.mark.parametrize(
    ("side", "status", "told"),
    [
        ("tag:commit=no", 404, "no sweep has the tag commit=no; values of commit are new, old"),
        ("tag:commits=new", 404, "no sweep has a tag commits; there are commit"),
        ("node:node-7", 404, "nothing was measured on a node 'node-7'; nodes are node-1"),
        ("hardware:H100", 404, "there is no hardware 'H100'; there are Test CPU"),
        ("node:node-1 batch:7", 404, "nothing was measured that fits node:node-1 batch:7"),
        ("baseline:good", 404, "there is no baseline 'good'; there are: none yet"),
        ("sweep:x", 404, "there is no sweep 'x'"),
        ("nod:x", 422, "did you mean node:"),
        ("batch:x", 422, "?candidate/batch/0"),
    ],
)
def test_a_side_that_is_wrong_is_told_what_would_work(
    client: TestClient, measured: list[str], side: str, status: int, told: str
) -> None:
    del measured
    answer = client.get("/v1/compare", params={"baseline": OLD, "candidate": side})
    assert answer.status_code == status, answer.text
    assert told in answer.json()["detail"]


def test_a_field_that_is_none_is_refused_by_name(client: TestClient, measured: list[str]) -> None:
    body = {"baseline": measured[0], "candidate": measured[1], "allow_different": ["gpu"]}
    refused = client.post("/v1/compare", json=body).json()
    assert refused["errors"][0]["pointer"] == "/allow_different"
    empty = client.post("/v1/compare", json={**body, "baseline": {}}).json()
    assert empty["errors"][0]["pointer"] == "/baseline"


def test_a_probe_that_failed_is_no_point_of_a_side(
    client: TestClient, sessions: Sessions, measured: list[str]
) -> None:
    del measured
    asked = {"collectives": "all_reduce", "tp_degree": 2, "max_bytes": 4096, "replicates": 1}
    assert client.post("/v1/calibrations", json=asked).status_code == 202
    while lease := claim(sessions):
        fail(sessions, lease)
    side = "since:2020-01-01"
    found = client.get("/v1/compare", params={"baseline": side, "candidate": side})
    assert found.status_code == 200, found.text
    assert found.json()["coverage"]["failed_baseline"] == 1
