"""Schedules over HTTP."""

from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from service.api.app import create_app
from service.api.examples.schedules import SCHEDULES
from service.settings import Settings
from service.store.engine import Sessions
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.measuring import register
from tests.integration.store.builders import FakeClock

ASKED: dict[str, object] = dict(SCHEDULES["nightly"].get("value") or {})
NIGHTLY = "/v1/schedules/nightly"


def test_a_schedule_from_its_beginning_to_its_end(client: TestClient) -> None:
    created = client.post("/v1/schedules", json=ASKED)
    assert created.status_code == 201, created.text
    report = created.json()
    assert created.headers["Location"] == f"/v1/schedules/{report['id']}"
    assert len(report["next_starts"]) == 5
    assert client.get("/v1/schedules").json()["items"] == [client.get(NIGHTLY).json()]

    paused = client.post(f"{NIGHTLY}/pause", json={"reason": "fan"}).json()
    assert paused["pause"]["reason"] == "fan"
    assert paused["next_starts"] == []
    started = client.post(f"{NIGHTLY}/run")
    assert started.status_code == 202, started.text
    sweep = client.get(f"/v1/sweeps/{started.json()['sweep_id']}").json()
    assert (sweep["created_by"], sweep["tags"]) == ("local", {"schedule": "nightly"})
    assert client.get(f"{NIGHTLY}/decisions").json()["items"] == [started.json()]
    assert client.post(f"{NIGHTLY}/resume").json()["pause"] is None

    changed = client.put(NIGHTLY, json={**ASKED, "cron": "0 3 * * *"}).json()
    assert (changed["cron"], changed["id"]) == ("0 3 * * *", report["id"])
    assert client.delete(NIGHTLY).status_code == 204
    assert client.get(NIGHTLY).status_code == 404


def test_a_night_that_is_put_off_is_started_before_its_schedule_is_changed(
    settings: Settings, sessions: Sessions
) -> None:
    clock = FakeClock(datetime(2026, 1, 1, 12, tzinfo=UTC))
    asked = {**ASKED, "cron": "0 2 * * *", "zone": "UTC", "jitter_s": 6 * 3600}
    app = create_app(settings, Sessions(sessions.engine, clock=clock))
    with TestClient(app, base_url=BASE_URL) as client:
        offset_s = client.post("/v1/schedules", json=asked).json()["offset_s"]
        clock.now = datetime(2026, 1, 2, 2, tzinfo=UTC)
        clock.advance(offset_s / 2)
        changed = client.put(NIGHTLY, json={**asked, "cron": "0 3 * * *", "jitter_s": 0}).json()
        assert changed["next_starts"][0].endswith("T03:00:00Z")
        (decided,) = client.get(f"{NIGHTLY}/decisions").json()["items"]
    assert (decided["scheduled_for"], decided["action"]) == ("2026-01-02T02:00:00Z", "fired")
    assert decided["sweep_id"] is not None


def test_a_name_is_taken_once(client: TestClient) -> None:
    assert client.post("/v1/schedules", json=ASKED).status_code == 201
    again = client.post("/v1/schedules", json=ASKED)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert client.post("/v1/schedules", json={**ASKED, "name": "b"}).status_code == 201
    assert client.put("/v1/schedules/b", json=ASKED).status_code == 409


@pytest.mark.parametrize(
    ("changes", "pointer", "says"),
    [
        ({"cron": "0 25 * * *"}, "/cron", "the hour '25' is not possible"),
        ({"zone": "Europe/Berln"}, "/zone", "Europe/Berlin"),
        ({"sweep": {"models": "gpt2"}}, "/sweep/blocks", "Field required"),
        ({"catch_up": "all"}, "", "use overlap 'queue'"),
    ],
)
def test_what_is_wrong_is_named(
    client: TestClient, changes: dict[str, object], pointer: str, says: str
) -> None:
    answer = client.post("/v1/schedules", json={**ASKED, **changes})
    assert answer.status_code == 422
    first = answer.json()["errors"][0]
    assert first["pointer"] == pointer
    assert says in first["detail"]


def test_what_no_known_machine_can_measure_is_refused_at_once(
    client: TestClient, sessions: Sessions
) -> None:
    register(sessions)
    sweep = {"models": "pythia-31m", "blocks": "mlp", "tp_degree": 8, "batch": 1}
    answer = client.post("/v1/schedules", json={**ASKED, "sweep": sweep})
    assert (answer.status_code, answer.json()["code"]) == (422, "nothing_to_measure")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_a_pause_may_last_to_the_end_of_the_calendar(client: TestClient, zone: str) -> None:
    client.post("/v1/schedules", json={**ASKED, "zone": zone})
    body = {"reason": "fan", "until": "9999-12-31T23:59:59Z"}
    paused = client.post(f"{NIGHTLY}/pause", json=body)
    assert paused.status_code == 200, paused.text
    assert (paused.json()["pause"]["until"], paused.json()["next_starts"]) == (body["until"], [])
    assert client.get(NIGHTLY).json() == paused.json()


def test_a_pause_that_would_be_over_is_refused(client: TestClient) -> None:
    client.post("/v1/schedules", json=ASKED)
    body = {"reason": "fan", "until": "2020-01-01T00:00:00Z"}
    answer = client.post(f"{NIGHTLY}/pause", json=body)
    assert answer.json()["errors"][0]["pointer"] == "/until"
