"""Results leave as lines and tables; files that cannot be taken are refused."""

import csv
import io
import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.api.app import create_app
from service.settings import Settings
from service.store.engine import Sessions, create_engine
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.transferring import EXPORT, IMPORT, LINES, fill, send


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


def test_a_time_beyond_the_calendar_refuses_all(client: TestClient, sessions: Sessions) -> None:
    fill(client, sessions)
    *lines, last = client.get(EXPORT).content.splitlines()
    document = json.loads(last)
    beyond = "9999-12-31T23:59:59-01:00"
    for name, changed in (
        ("/created_at", {"created_at": beyond}),
        ("/sweep/created_at", {"sweep": {**document["sweep"], "created_at": beyond}}),
        ("/trial/finished_at", {"trial": {**document["trial"], "finished_at": beyond}}),
    ):
        wrong = json.dumps({**document, **changed}).encode()
        answer = send(client, b"\n".join([*lines, wrong]))
        assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_file")
        (error,) = answer.json()["errors"]
        assert error["pointer"] == "line 12"
        assert error["detail"] == f"{name}: the time lies outside the years 1 to 9999"


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
