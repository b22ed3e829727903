"""Instances that export and import what they measured."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def step_us(spec: PointSpec) -> float:
    """Time of a step of every point here."""
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
    measure_all(sessions, step_us)


def fail_once(client: TestClient, sessions: Sessions) -> str:
    """Measure a sweep of which one trial fails."""
    made = client.post("/v1/sweeps", json={**BODY, "batch": 1})
    lease = claim(sessions)
    assert lease is not None
    fail(sessions, lease)
    measure_all(sessions, step_us)
    sweep_id = made.json()["id"]
    assert isinstance(sweep_id, str)
    return sweep_id


def send(client: TestClient, lines: bytes) -> Response:
    return client.post(IMPORT, content=lines, headers=LINES)
