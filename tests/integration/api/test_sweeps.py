from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from service.api.examples.sweeps import SWEEPS
from service.store.engine import Sessions
from tests.integration.api.measuring import BODY, claim, complete, fail, measure_all, register


def test_a_sweep_is_accepted_with_its_place(client: TestClient) -> None:
    answer = client.post("/v1/sweeps", json=BODY)
    assert answer.status_code == 202
    sweep = answer.json()
    assert answer.headers["location"] == f"/v1/sweeps/{sweep['id']}"
    assert (sweep["state"], sweep["num_points"], sweep["counts"]["queued"]) == ("queued", 4, 4)
    assert sweep["progress"]["num_trials"] == 8
    assert sweep["created_by"] == "local"
    assert client.get(answer.headers["location"]).json() == sweep


@pytest.mark.parametrize("name", SWEEPS)
def test_the_examples_of_the_description_are_accepted(name: str, client: TestClient) -> None:
    assert client.post("/v1/sweeps", json=SWEEPS[name]["value"]).status_code == 202


def test_combinations_that_cannot_be_sharded_are_kept_as_rejected(client: TestClient) -> None:
    sweep = client.post("/v1/sweeps", json={**BODY, "tp_degree": [2, 3]}).json()
    assert (sweep["num_points"], sweep["num_rejected"]) == (2, 2)
    points = client.get(f"/v1/sweeps/{sweep['id']}/points", params={"state": "rejected"}).json()
    rejection = points["items"][0]["rejection"]
    assert (rejection["field"], rejection["value"]) == ("intermediate_size", 1024)
    assert rejection["valid_tp_degrees"] == [1, 2, 4, 8, 16, 32, 64]


def test_a_sweep_of_which_nothing_can_be_sharded_is_refused_and_not_queued(
    client: TestClient,
) -> None:
    answer = client.post("/v1/sweeps", json={**BODY, "tp_degree": 3})
    assert (answer.status_code, answer.json()["code"]) == (422, "nothing_to_measure")
    assert "tp_degree=3" in answer.json()["errors"][0]["detail"]
    assert client.get("/v1/sweeps").json()["items"] == []


def test_a_sweep_over_the_quota_is_refused_and_not_queued(client: TestClient) -> None:
    many = {**BODY, "batch": list(range(1, 102)), "seq": list(range(1, 101))}
    answer = client.post("/v1/sweeps", json=many)
    assert (answer.status_code, answer.json()["code"]) == (422, "quota_exceeded")
    assert "20200" in answer.json()["detail"]
    assert "10000" in answer.json()["detail"]
    assert client.get("/v1/sweeps").json()["items"] == []


def test_known_nodes_decide_what_fits(client: TestClient, sessions: Sessions) -> None:
    register(sessions)
    preview = client.post("/v1/sweeps/preview", json={**BODY, "tp_degree": [4, 8]}).json()
    assert {point["tp_degree"] for point in preview["points"]} == {4}
    assert {one["field"] for one in preview["rejected"]} == {"tp_degree"}
    huge = client.post("/v1/sweeps", json={**BODY, "models": "llama-3-405b", "batch": 1 << 20})
    assert huge.json()["code"] == "nothing_to_measure"
    assert "GiB" in huge.json()["errors"][0]["detail"]
    absent = client.post("/v1/sweeps", json={**BODY, "where": {"accelerator": "H100"}})
    assert absent.json()["errors"][0]["pointer"] == "/where/accelerator"


def test_a_preview_judges_every_combination_and_queues_nothing(client: TestClient) -> None:
    preview = client.post("/v1/sweeps/preview", json={**BODY, "tp_degree": [1, 3]}).json()
    assert (preview["num_points"], preview["num_trials"]) == (2, 4)
    assert len(preview["points"]) == 2
    assert len(preview["rejected"]) == 2
    assert preview["estimated_s"] > 0
    assert client.get("/v1/sweeps").json()["items"] == []


def test_the_same_key_answers_the_same_sweep(client: TestClient) -> None:
    key = {"Idempotency-Key": "night-1"}
    first = client.post("/v1/sweeps", json=BODY, headers=key)
    spelled = {**BODY, "models": ["pythia-31m"], "blocks": ["mlp"], "seq": 1}
    again = client.post("/v1/sweeps", json=spelled, headers=key)
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert again.headers["location"] == first.headers["location"]
    assert len(client.get("/v1/sweeps").json()["items"]) == 1


def test_the_same_key_with_another_body_is_refused(client: TestClient) -> None:
    key = {"Idempotency-Key": "night-1"}
    client.post("/v1/sweeps", json=BODY, headers=key)
    answer = client.post("/v1/sweeps", json={**BODY, "batch": 2}, headers=key)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")


def test_the_same_key_sent_many_times_at_once_makes_one_sweep(client: TestClient) -> None:
    def post(_: int) -> str:
        answer = client.post("/v1/sweeps", json=BODY, headers={"Idempotency-Key": "k"})
        assert answer.status_code == 202, answer.text
        identity = answer.json()["id"]
        assert isinstance(identity, str)
        return identity

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(post, range(32)))) == 1


def test_many_sweeps_at_once_are_all_accepted(client: TestClient) -> None:
    """More than there are threads: none may hold the database while it waits for a thread."""

    def post(_: int) -> int:
        return client.post("/v1/sweeps", json=BODY).status_code

    with ThreadPoolExecutor(60) as pool:
        assert set(pool.map(post, range(60))) == {202}


def test_a_commit_that_fails_is_no_success(
    client: TestClient, app: FastAPI, sessions: Sessions
) -> None:
    del app

    def refuse(_: object) -> None:
        raise RuntimeError("the disk is full")

    event.listen(sessions.engine, "commit", refuse)
    answer = client.post("/v1/sweeps", json=BODY)
    event.remove(sessions.engine, "commit", refuse)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "disk" not in answer.text
    assert client.get("/v1/sweeps").json()["items"] == []


def test_a_database_that_is_away_is_503_with_a_time_to_come_back(
    client: TestClient, sessions: Sessions
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("connection refused"))

    event.listen(sessions.engine, "before_cursor_execute", refuse)
    answer = client.get("/v1/sweeps")
    event.remove(sessions.engine, "before_cursor_execute", refuse)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


def test_sweeps_are_listed_newest_first_in_pages(client: TestClient) -> None:
    made = [client.post("/v1/sweeps", json=BODY).json()["id"] for _ in range(3)]
    first = client.get("/v1/sweeps", params={"limit": 2}).json()
    rest = client.get("/v1/sweeps", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [one["id"] for one in first["items"] + rest["items"]] == made[::-1]
    assert rest["next_cursor"] is None


def test_sweeps_are_filtered_by_state_tag_and_time(client: TestClient) -> None:
    tagged = client.post("/v1/sweeps", json={**BODY, "tags": {"commit": "a=b"}}).json()
    other = client.post("/v1/sweeps", json=BODY).json()
    client.post(f"/v1/sweeps/{other['id']}/cancel")

    def found(**parameters: str) -> list[str]:
        items = client.get("/v1/sweeps", params=parameters).json()["items"]
        return [one["id"] for one in items]

    assert found(tag="commit=a=b") == [tagged["id"]]
    assert found(state="cancelled") == [other["id"]]
    assert found(since="2999-01-01T00:00:00+02:00") == []
    assert found(since=tagged["created_at"], state="queued") == [tagged["id"]]


def test_a_cursor_of_another_list_is_refused(client: TestClient) -> None:
    for _ in range(2):
        client.post("/v1/sweeps", json=BODY)
    cursor = client.get("/v1/sweeps", params={"limit": 1}).json()["next_cursor"]
    answer = client.get("/v1/sweeps", params={"cursor": cursor, "state": "queued"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")


def test_progress_and_errors_of_points_are_shown(client: TestClient, sessions: Sessions) -> None:
    sweep_id = client.post("/v1/sweeps", json={**BODY, "replicates": 1}).json()["id"]
    register(sessions)
    for index in range(4):
        lease = claim(sessions)
        assert lease is not None
        if index:
            complete(sessions, lease, 100)
        else:
            fail(sessions, lease)
    sweep = client.get(f"/v1/sweeps/{sweep_id}").json()
    assert (sweep["state"], sweep["counts"]["failed"]) == ("partial", 1)
    assert (sweep["progress"]["num_done"], sweep["progress"]["eta_s"]) == (4, 0)
    (point,) = client.get(f"/v1/sweeps/{sweep_id}/points?state=failed").json()["items"]
    assert (point["error"]["code"], point["error"]["rank"]) == ("out_of_memory", 1)
    assert point["error"]["log_tail"] == "oom"


def test_a_cancelled_sweep_measures_nothing_more(client: TestClient, sessions: Sessions) -> None:
    sweep_id = client.post("/v1/sweeps", json=BODY).json()["id"]
    answer = client.post(f"/v1/sweeps/{sweep_id}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    assert measure_all(sessions, lambda _: 100) == 0
    again = client.post(f"/v1/sweeps/{sweep_id}/cancel")
    assert (again.status_code, again.json()["state"]) == (202, "cancelled")


def test_a_retry_puts_failed_points_back(client: TestClient, sessions: Sessions) -> None:
    sweep_id = client.post("/v1/sweeps", json={**BODY, "replicates": 1}).json()["id"]
    register(sessions)
    while lease := claim(sessions):
        fail(sessions, lease)
    assert client.get(f"/v1/sweeps/{sweep_id}").json()["state"] == "failed"
    answer = client.post(f"/v1/sweeps/{sweep_id}/retry")
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert measure_all(sessions, lambda _: 100) == 4
    assert client.get(f"/v1/sweeps/{sweep_id}").json()["state"] == "succeeded"


def test_a_retry_of_what_did_not_fail_is_a_conflict(client: TestClient) -> None:
    sweep_id = client.post("/v1/sweeps", json=BODY).json()["id"]
    answer = client.post(f"/v1/sweeps/{sweep_id}/retry")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize("sweep_id", ["no-such", "0199aaaa-0000-7000-8000-000000000000", "%00"])
def test_a_sweep_that_is_not_there_is_404(sweep_id: str, client: TestClient) -> None:
    for method, path in [
        ("GET", ""),
        ("GET", "/points"),
        ("GET", "/events"),
        ("POST", "/cancel"),
        ("POST", "/retry"),
    ]:
        answer = client.request(method, f"/v1/sweeps/{sweep_id}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
