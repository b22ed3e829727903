"""What one instance exported arrives in another, on the other database, and is merged by id."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.store import sweeps
from service.store.engine import Sessions, create_engine
from tests.integration.api.measuring import BODY, claim, fail, measure_all
from tests.integration.api.transferring import EXPORT, fail_once, fill, instance, send, step_us
from tests.integration.store.locks import is_anyone_waiting
from tests.waiting import wait_until


@pytest.fixture
def two(
    tmp_path: Path, sqlite_url: str, postgresql_url: str
) -> Iterator[tuple[TestClient, Sessions, TestClient]]:
    """A filled instance on one database, with its sessions, and an empty one on the other."""
    with (
        instance(tmp_path, sqlite_url) as (source, sessions),
        instance(tmp_path, postgresql_url) as (target, _),
    ):
        fill(source, sessions)
        yield source, sessions, target


def test_what_is_exported_is_imported_equal_on_the_other_database(
    two: tuple[TestClient, Sessions, TestClient],
) -> None:
    source, _, target = two
    lines = source.get(EXPORT, params={"include": "samples"}).content
    assert len(lines.splitlines()) == 4 * 2 + 2 * 2
    taken = send(target, lines).json()
    assert (taken["num_new"], taken["num_known"], taken["num_refused"]) == (12, 0, 0)
    assert target.get(EXPORT, params={"include": "samples"}).content == lines
    assert target.get("/v1/results").json() == source.get("/v1/results").json()
    states = [one["state"] for one in target.get("/v1/sweeps").json()["items"]]
    assert states == ["succeeded", "succeeded"]
    again = send(target, lines).json()
    assert again["sentence"] == "0 new, 12 there already"
    back = send(source, target.get(EXPORT).content).json()
    assert (back["num_new"], back["num_known"]) == (0, 12)


def test_what_failed_goes_along_and_comes_back_as_known(
    two: tuple[TestClient, Sessions, TestClient],
) -> None:
    source, sessions, target = two
    path = f"/v1/sweeps/{fail_once(source, sessions)}"
    lines = source.get(EXPORT).content
    assert len(lines.splitlines()) == 12 + 3 + 1
    assert len(source.get(EXPORT, params={"tag": "commit=abc"}).content.splitlines()) == 8
    reversed_lines = b"".join(reversed(lines.splitlines(keepends=True)))
    assert send(target, reversed_lines).json()["num_new"] == 16
    for shown in (path, f"{path}/points"):
        assert target.get(shown).json() == source.get(shown).json()
    assert target.get(path).json()["state"] == "partial"
    assert target.get(EXPORT).content == lines
    assert send(source, target.get(EXPORT).content).json()["num_known"] == 16
    assert send(target, lines).json()["num_known"] == 16


@pytest.fixture
def two_swapped(
    tmp_path: Path, sqlite_url: str, postgresql_url: str
) -> Iterator[tuple[TestClient, Sessions, TestClient]]:
    """As `two`, the databases changed about."""
    with (
        instance(tmp_path, postgresql_url) as (source, sessions),
        instance(tmp_path, sqlite_url) as (target, _),
    ):
        fill(source, sessions)
        yield source, sessions, target


@pytest.mark.parametrize("is_reversed", [False, True], ids=["failure first", "result first"])
def test_a_trial_that_was_put_back_is_merged_as_it_ended_last_in_either_order(
    two: tuple[TestClient, Sessions, TestClient], *, is_reversed: bool
) -> None:
    source, sessions, target = two
    path = f"/v1/sweeps/{fail_once(source, sessions)}"
    before = source.get(EXPORT).content
    assert source.post(f"{path}/retry").status_code == 202
    measure_all(sessions, step_us)
    after = source.get(EXPORT).content
    first, second = (after, before) if is_reversed else (before, after)
    assert send(target, first).json()["num_new"] == 16
    assert send(target, second).json()["sentence"] == "1 new, 15 there already"
    for again in (first, second):
        assert send(target, again).json()["sentence"] == "0 new, 16 there already"
    for shown in (path, f"{path}/points"):
        assert target.get(shown).json() == source.get(shown).json()
    assert target.get(path).json()["state"] == "succeeded"
    assert target.get(EXPORT).content == after
    assert send(source, before).json()["sentence"] == "0 new, 16 there already"


def test_a_trial_that_failed_again_and_then_did_not_keeps_every_attempt(
    two_swapped: tuple[TestClient, Sessions, TestClient],
) -> None:
    source, sessions, target = two_swapped
    path = f"/v1/sweeps/{fail_once(source, sessions)}"
    before = source.get(EXPORT).content
    source.post(f"{path}/retry")
    lease = claim(sessions)
    assert lease is not None
    fail(sessions, lease)
    after = source.get(EXPORT).content
    for lines, num_new in ((before, 16), (after, 1), (before, 0), (after, 0)):
        assert send(target, lines).json()["num_new"] == num_new
    assert target.get(EXPORT).content == after
    source.post(f"{path}/retry")
    measure_all(sessions, step_us)
    assert send(target, source.get(EXPORT).content).json()["num_new"] == 1
    for shown in (path, f"{path}/points"):
        assert target.get(shown).json() == source.get(shown).json()


def test_a_sweep_that_is_put_back_while_it_is_imported_is_not_ended_by_that(
    two: tuple[TestClient, Sessions, TestClient], postgresql_url: str
) -> None:
    """On SQLite the two begin one by one."""
    source, sessions, target = two
    sweep_id = fail_once(source, sessions)
    of_sweep = [
        line
        for line in source.get(EXPORT).content.splitlines(keepends=True)
        if json.loads(line)["sweep"]["id"] == sweep_id
    ]
    assert send(target, b"".join(of_sweep[1:])).json()["num_new"] == 3
    source.post(f"/v1/sweeps/{sweep_id}/retry")
    measure_all(sessions, step_us)
    after = source.get(EXPORT).content
    engine = create_engine(postgresql_url)
    here = Sessions(engine)
    with ThreadPoolExecutor(1) as pool:
        with here.writing() as session:
            sweeps.retry(session, sweep_id)
            sending = pool.submit(send, target, after)
            wait_until(lambda: is_anyone_waiting(here), within_s=20)
        refused = sending.result().json()["refused"]
    engine.dispose()
    reason = f"sweep {sweep_id} is still being measured here"
    assert [one["reason"] for one in refused] == [reason, reason]
    assert target.get(f"/v1/sweeps/{sweep_id}").json()["finished_at"] is None


def test_a_trial_that_stands_for_something_else_here_is_left_out(
    client: TestClient, sessions: Sessions
) -> None:
    fill(client, sessions)
    fail_once(client, sessions)
    *_, result, failure = map(json.loads, client.get(EXPORT).content.splitlines())
    for one, ended in ((result, failure), (failure, result)):
        line = json.dumps({**one, "trial": {**one["trial"], "id": ended["trial"]["id"]}})
        (refused,) = send(client, line.encode()).json()["refused"]
        assert "stands for something else here" in refused["reason"]


def test_parts_of_a_sweep_are_put_together(
    two: tuple[TestClient, Sessions, TestClient],
) -> None:
    source, _, target = two
    lines = source.get(EXPORT).content.splitlines(keepends=True)
    part = source.get(EXPORT, params={"tag": "commit=abc", "batch": 1}).content
    assert len(part.splitlines()) == 4
    assert send(target, part).json()["num_new"] == 4
    assert send(target, b"".join(reversed(lines))).json()["num_new"] == 8
    assert target.get(EXPORT).content == b"".join(lines)


def test_what_contradicts_is_left_out_by_line(client: TestClient, sessions: Sessions) -> None:
    fill(client, sessions)
    running = client.post("/v1/sweeps", json=BODY).json()["id"]
    (first, *_) = client.get(EXPORT).content.splitlines()
    document = json.loads(first)
    other = {**document, "trial": {**document["trial"], "id": "another"}}
    ours = {**other, "sweep": {**other["sweep"], "id": running}}
    answer = send(client, b"\n".join(json.dumps(one).encode() for one in (other, ours))).json()
    assert (answer["num_new"], answer["num_refused"]) == (0, 2)
    told = {one["line"]: one["reason"] for one in answer["refused"]}
    assert "positions are taken" in told[1]
    assert told[2] == f"sweep {running} is still being measured here"
