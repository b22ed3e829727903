"""Nights of schedules that are held against a baseline by themselves, and A/A controls."""

from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from service.store.engine import Sessions
from service.store.models.baseline import BaselineRow
from service.watch.holder import Holder
from tests.integration.api.measuring import BODY, measure_all

DTYPES = ["float32", "bfloat16"]
NIGHTLY = {"name": "nightly", "cron": "0 2 * * *", "sweep": BODY, "baseline": "good"}


@pytest.fixture
def baseline(client: TestClient, sessions: Sessions) -> str:
    """A measured sweep, pinned as `good`."""
    sweep_id = client.post("/v1/sweeps", json=BODY).json()["id"]
    measure_all(sessions, lambda _: 100.0)
    client.post("/v1/baselines", json={"name": "good", "sweep": sweep_id})
    assert isinstance(sweep_id, str)
    return sweep_id


def night(client: TestClient, sessions: Sessions, *, step_us: float) -> str:
    """Run the schedule's sweep."""
    sweep_id = client.post("/v1/schedules/nightly/run").json()["sweep_id"]
    assert Holder(sessions).look() == 0, "it is not over"
    measure_all(sessions, lambda _: step_us)
    assert isinstance(sweep_id, str)
    return sweep_id


def test_a_night_is_held_against_the_baseline_once_it_is_over(
    client: TestClient, sessions: Sessions, baseline: str
) -> None:
    assert client.post("/v1/schedules", json=NIGHTLY).status_code == 201
    assert client.get("/v1/schedules/nightly").json()["last_held"] is None
    sweep_id = night(client, sessions, step_us=200.0)
    holder = Holder(sessions)
    assert (holder.look(), holder.look()) == (1, 0)
    (decision,) = client.get("/v1/schedules/nightly/decisions").json()["items"]
    held = decision["held"]
    assert (held["verdict"], held["num_slower"], held["num_points"]) == ("slower", 4, 4)
    assert (held["sweep_id"], held["baseline_sweep_id"]) == (sweep_id, baseline)
    assert held["ratio"] == pytest.approx(2, rel=0.01)
    assert "slower" in held["sentence"]
    (schedule,) = client.get("/v1/schedules").json()["items"]
    assert schedule["last_held"] == held
    assert client.get("/v1/schedules/nightly").json()["last_held"] == held
    assert client.delete("/v1/schedules/nightly").status_code == 204


def test_a_baseline_that_cannot_be_used_is_said_beside_the_night(
    client: TestClient, sessions: Sessions, engine: Engine, baseline: str
) -> None:
    del baseline
    client.post("/v1/schedules", json=NIGHTLY)
    with engine.begin() as connection:
        connection.execute(update(BaselineRow).values(expires_at=datetime(2020, 1, 1, tzinfo=UTC)))
    night(client, sessions, step_us=100.0)
    assert Holder(sessions).look() == 1
    held = client.get("/v1/schedules/nightly").json()["last_held"]
    assert (held["verdict"], held["num_points"]) == (None, 0)
    assert held["sentence"].startswith("baseline 'good' expired at 2020-01-01")


def test_an_aa_control_is_a_sweep_of_its_own_that_is_no_night(
    client: TestClient, sessions: Sessions, baseline: str
) -> None:
    del baseline
    client.post("/v1/schedules", json={**NIGHTLY, "aa_control": True})
    sweep_id = night(client, sessions, step_us=100.0)
    (control,) = client.get("/v1/sweeps", params={"tag": "aa_control=nightly"}).json()["items"]
    assert control["id"] != sweep_id
    assert (control["num_points"], control["spec"]["pair"]["axis"]) == (2, "same")
    assert control["spec"]["replicates"] == 3
    assert "schedule" not in control["tags"]
    assert Holder(sessions).look() == 1


def test_what_the_controls_say_is_shown_over_all_nights(
    client: TestClient, sessions: Sessions, baseline: str
) -> None:
    del baseline
    empty = client.get("/v1/self-check").json()
    assert (empty["num_sweeps"], empty["rate"]) == (0, None)
    assert empty["sentence"].endswith("cannot tell")
    client.post("/v1/schedules", json={**NIGHTLY, "aa_control": True})
    for _ in range(2):
        night(client, sessions, step_us=100.0)
        Holder(sessions).look()
    other = {**BODY, "batch": 1, "tp_degree": 2, "pair": {"axis": "dtype", "values": DTYPES}}
    client.post("/v1/sweeps", json=other)
    measure_all(sessions, lambda _: 100.0)
    found = client.get("/v1/self-check", params={"schedule": "nightly"}).json()
    assert (found["num_sweeps"], found["num_pairs"], found["num_alarms"]) == (2, 2, 0)
    assert (found["rate"], found["is_kept"]) == (0, True)
    assert "0 of 2 pairs of a point with itself were called different" in found["sentence"]
    assert client.get("/v1/self-check").json()["num_sweeps"] == 2
    assert client.get("/v1/self-check", params={"schedule": "x"}).json()["num_sweeps"] == 0
