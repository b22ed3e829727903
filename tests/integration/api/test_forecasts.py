"""What is predicted of points as their sweep begins, beside what they then take."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

from service.dispatch.forecaster import Forecaster
from service.reports import forecasts
from service.store.engine import Sessions
from service.store.leases import Lease
from tests.integration.api.measuring import BODY, claim, complete, measure_all, register
from workers.contract.point import PointSpec

KNOWN = {**BODY, "batch": [1, 4, 16, 64, 256]}


def step_us(point: PointSpec) -> float:
    return 50.0 + 10.0 * point.batch / point.tp_degree


def submit(client: TestClient, body: dict[str, object]) -> str:
    answer = client.post("/v1/sweeps", json=body)
    assert answer.status_code == 202, answer.text
    sweep_id: str = answer.json()["id"]
    return sweep_id


def results(client: TestClient, sweep_id: str) -> list[dict[str, object]]:
    items: list[dict[str, object]] = client.get(f"/v1/results?sweep={sweep_id}").json()["items"]
    return items


def forecast(sessions: Sessions, lease: Lease) -> None:
    with ThreadPoolExecutor(max_workers=1) as executor:
        Forecaster(sessions, executor=executor).note([lease])


def num_predicted(sessions: Sessions, sweep_id: str) -> int:
    with sessions.writing() as session:
        found = forecasts.predict(session, sweep_id)
        if found is None:
            return 0
        forecasts.freeze(session, found)
        return len(found.predictions)


def test_a_point_is_predicted_before_it_runs_and_held_against_what_it_took(
    client: TestClient, sessions: Sessions
) -> None:
    submit(client, KNOWN)
    measure_all(sessions, step_us)
    sweep_id = submit(client, {**BODY, "batch": 32, "tp_degree": 2})
    lease = claim(sessions)
    assert lease is not None
    forecast(sessions, lease)
    complete(sessions, lease, 1.02 * 210.0)
    measure_all(sessions, lambda _: 1.02 * 210.0)
    (found,) = results(client, sweep_id)
    prediction = found["prediction"]
    assert isinstance(prediction, dict)
    assert prediction["basis"] == "measured"
    assert prediction["time_us"] == pytest.approx(210, rel=0.1)
    assert prediction["error"] == pytest.approx(prediction["time_us"] / (1.02 * 210) - 1)
    band = prediction["low_us"], prediction["high_us"]
    assert prediction["is_within"] is (band[0] <= 1.02 * 210 <= band[1])
    one = client.get(f"/v1/results/{found['id']}").json()
    assert one["prediction"] == prediction


def test_nothing_that_was_measured_after_the_sweep_was_asked_for_is_used(
    client: TestClient, sessions: Sessions
) -> None:
    submit(client, KNOWN)
    measure_all(sessions, step_us)
    late = submit(client, {**BODY, "batch": 32, "tp_degree": 2})
    measure_all(sessions, lambda _: 9999.0)
    assert num_predicted(sessions, late) == 1
    assert num_predicted(sessions, late) == 0
    (found,) = results(client, late)
    prediction = found["prediction"]
    assert isinstance(prediction, dict)
    assert prediction["time_us"] == pytest.approx(210, rel=0.1)
    assert prediction["is_within"] is False


def test_where_there_is_nothing_to_go_by_nothing_is_predicted(
    client: TestClient, sessions: Sessions
) -> None:
    sweep_id = submit(client, BODY)
    measure_all(sessions, step_us)
    assert num_predicted(sessions, sweep_id) == 0
    assert {one["prediction"] for one in results(client, sweep_id)} == {None}


def test_a_prediction_that_cannot_be_made_costs_nothing_else(
    client: TestClient, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(sessions)
    sweep_id = submit(client, BODY)
    lease = claim(sessions)
    assert lease is not None
    monkeypatch.setattr(forecasts, "predict", lambda *_: 1 / 0)
    forecast(sessions, lease)
    complete(sessions, lease, 100.0)
    assert {one["prediction"] for one in results(client, sweep_id)} == {None}
