"""Results leave one instance and arrive in another."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from service.api.app import create_app
from service.settings import Settings
from service.store.engine import Sessions, create_engine
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.measuring import BODY, claim, fail, measure_all
from workers.contract.point import PointSpec

EXPORT, IMPORT = "/v1/results/export", "/v1/results/import"
LINES = {"Content-Type": "application/x-ndjson"}


def _step_us(spec: PointSpec) -> float:
    return 100.0 * spec.batch / spec.tp_degree


@contextmanager
def instance(home: Path, url: str) -> Iterator[tuple[TestClient, Sessions]]:
    """An instance of the service on a database."""
    engine = create_engine(url)
    settings = Settings.model_validate({"home": home, "database_url": url})
    try:
        with TestClient(create_app(settings, Sessions(engine)), base_url=BASE_URL) as client:
            yield client, Sessions(engine)
    finally:
        engine.dispose()


def fill(client: TestClient, sessions: Sessions) -> None:
    """Measure a sweep, and one of pairs."""
    client.post("/v1/sweeps", json={**BODY, "name": "=1+1", "tags": {"commit": "abc"}})
    paired = {**BODY, "batch": 2, "tp_degree": 2, "pair": {"axis": "same"}}
    client.post("/v1/sweeps", json=paired)
    measure_all(sessions, _step_us)


def fail_once(client: TestClient, sessions: Sessions) -> str:
    """Measure a sweep of which one trial fails."""
    made = client.post("/v1/sweeps", json={**BODY, "batch": 1})
    lease = claim(sessions)
    assert lease is not None
    fail(sessions, lease)
    measure_all(sessions, _step_us)
    sweep_id = made.json()["id"]
    assert isinstance(sweep_id, str)
    return sweep_id


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


def send(client: TestClient, lines: bytes) -> Response:
    return client.post(IMPORT, content=lines, headers=LINES)


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


def test_a_trial_that_ended_another_way_here_is_left_out(
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


def test_a_line_that_cannot_be_read_refuses_all(client: TestClient, sessions: Sessions) -> None:
    fill(client, sessions)
    lines = client.get(EXPORT).content.splitlines()
    document = json.loads(lines[1])
    renamed = json.dumps({**document, "hardware_key": "h1:0"}).encode()
    wrong = [
        lines[0],
        b"{",
        b"",
        renamed,
        lines[2].replace(b'"node":"node-1"', b'"node":"\\u0000"'),
    ]
    answer = send(client, b"\n".join(wrong))
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_file")
    errors = answer.json()["errors"]
    assert [one["pointer"] for one in errors] == ["line 2", "line 4", "line 5"]
    assert "hardware_key is h1:0" in errors[1]["detail"]
    assert answer.json()["detail"].endswith("nothing was taken")
    assert send(client, b"\n\n").json()["code"] == "unreadable_file"


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


def test_a_table_has_a_row_for_each_trial_and_runs_no_formula(
    client: TestClient, sessions: Sessions
) -> None:
    fill(client, sessions)
    answer = client.get(EXPORT, params={"format": "csv", "include": "samples"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 12
    named = [row for row in rows if row["sweep_name"]]
    assert {row["sweep_name"] for row in named} == {"'=1+1"}
    assert named[0]["tags"] == '{"commit": "abc"}'
    assert float(named[0]["step_time_us"]) == pytest.approx(100, rel=0.01)
    assert len(json.loads(named[0]["step_ns"])) == 5
    plain = client.get(EXPORT, params={"format": "csv"}).text
    assert {row["step_ns"] for row in csv.DictReader(io.StringIO(plain))} == {""}


def test_parquet_has_the_rows_of_the_table_or_says_what_it_needs(
    client: TestClient, sessions: Sessions
) -> None:
    fill(client, sessions)
    answer = client.get(EXPORT, params={"format": "parquet", "include": "samples"})
    if find_spec("pyarrow") is None:
        assert (answer.status_code, answer.json()["code"]) == (501, "not_installed")
        assert "tpsweep[parquet]" in answer.json()["detail"]
        return
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(io.BytesIO(answer.content)).to_pylist()
    assert len(rows) == 12
    assert rows[-1]["step_time_us"] == pytest.approx(3200, rel=0.01)
    assert len(rows[-1]["step_ns"]) == 5


def test_json_lines_say_themselves_what_they_are(client: TestClient) -> None:
    refused = client.post(IMPORT, content=b"{}", headers=LINES, params={"hardware": "a"})
    assert refused.json()["errors"][0]["pointer"] == "?hardware"
    text = {"Content-Type": "text/plain"}
    assert (
        client.post(IMPORT, content=b"x", headers=text).json()["errors"][0]["pointer"]
        == "?hardware"
    )


def test_an_import_has_a_limit_of_its_own(tmp_path: Path, sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    settings = Settings.model_validate({"home": tmp_path, "max_import_bytes": 2048})
    with TestClient(create_app(settings, Sessions(engine)), base_url=BASE_URL) as client:
        assert send(client, b"x" * 4096).json()["code"] == "body_too_large"
    engine.dispose()
