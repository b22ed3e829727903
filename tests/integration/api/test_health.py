from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from service.api.app import create_app
from service.settings import Settings
from service.store.engine import Sessions, create_engine
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.measuring import register
from tests.integration.api.serving import serving


@pytest.mark.parametrize("path", ["/livez", "/healthz"])
def test_a_process_that_answers_is_alive(path: str, client: TestClient) -> None:
    assert client.get(path).json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/livez", "/v1/sweeps", "/v1/nothing"])
def test_head_answers_what_get_does_without_the_body(app: FastAPI, path: str) -> None:
    with serving(app) as address, httpx2.Client(base_url=address) as http:
        found, asked = http.get(path), http.head(path)
    assert asked.status_code == found.status_code
    assert asked.headers["content-length"] == found.headers["content-length"]
    assert (asked.content, bool(found.content)) == (b"", True)


def test_a_migrated_database_is_ready_and_says_whether_a_dispatcher_was_seen(
    client: TestClient, sessions: Sessions
) -> None:
    before = client.get("/readyz")
    assert (before.status_code, before.json()["status"]) == (200, "ready")
    assert not before.json()["dispatcher"]["ok"]
    register(sessions)
    assert client.get("/readyz").json()["dispatcher"]["ok"]


def test_a_database_that_is_away_is_not_ready_but_the_process_lives(
    client: TestClient, sessions: Sessions
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("connection refused"))

    event.listen(sessions.engine, "before_cursor_execute", refuse)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not_ready")
    assert not answer.json()["database"]["ok"]
    assert client.get("/livez").status_code == 200
    event.remove(sessions.engine, "before_cursor_execute", refuse)
    assert client.get("/readyz").status_code == 200


def test_an_empty_database_is_not_ready_and_the_command_is_named(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/empty.sqlite3")
    app = create_app(Settings(home=tmp_path), Sessions(engine))
    with TestClient(app, base_url=BASE_URL) as client:
        answer = client.get("/readyz")
    engine.dispose()
    assert answer.status_code == 503
    assert "tpsweep db upgrade" in answer.json()["schema_revision"]["detail"]
