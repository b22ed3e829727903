"""Predictions over HTTP: from measured points, from curves brought in, from the catalogue."""

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from service.store.engine import Sessions
from tests.integration.api.importing import P5, bring
from tests.integration.api.measuring import BODY, measure_all
from tests.unit.analysis.trials import HARDWARE

POINT = {
    "hardware": "H100 SXM",
    "model": "llama-2-70b",
    "block": "mlp",
    "phase": "prefill",
    "tp_degree": 8,
    "batch": 1,
    "seq": 2048,
}


@pytest.fixture
def database(sqlite_url: str) -> str:
    """The store's own tests ask both databases."""
    return sqlite_url


def ask(client: TestClient, **changes: object) -> Response:
    return client.post("/v1/predict", json={**POINT, **changes})


def test_without_any_measurement_the_catalogue_answers_and_says_so(client: TestClient) -> None:
    found = ask(client).json()
    assert found["step_time"]["basis"] == "catalogue"
    assert found["step_time"]["low_us"] is None
    assert "published peaks of H100 SXM" in found["step_time"]["calibration"]
    assert found["communication_time"]["time_us"] == pytest.approx(
        20 + 1.75 * 2048 * 8192 * 2 / 450e3
    )
    assert found["step_time"]["time_us"] == pytest.approx(
        found["compute_time"]["time_us"] + found["communication_time"]["time_us"]
    )


def test_a_curve_that_was_brought_in_answers_for_the_collectives(client: TestClient) -> None:
    taken = bring(client, P5.read_bytes(), hardware="h100-p5", source=P5.name)
    assert taken.status_code == 200
    found = ask(client, hardware="h100-p5").json()
    communication = found["communication_time"]
    assert communication["basis"] == "measured"
    assert P5.name in communication["calibration"]
    assert communication["time_us"] == pytest.approx(198.3, rel=0.01)
    assert communication["low_us"] < communication["time_us"] < communication["high_us"]
    other = ask(client, hardware="h100-p5", tp_degree=4).json()
    assert other["communication_time"]["basis"] == "extrapolated"
    assert "8 ranks stretched to 4" in " ".join(other["warnings"])


def test_a_curve_of_one_rank_says_nothing_of_several(client: TestClient) -> None:
    """Without any other the catalogue answers, as if it had not been brought in."""
    without = ask(client, hardware="H100 SXM").json()
    taken = bring(client, "\n".join(map(alone, P5.read_text().split("\n"))), num_ranks=1)
    assert (taken.status_code, taken.json()["curves"][0]["num_ranks"]) == (200, 1)
    assert taken.json()["curves"][0]["doubts"] == []
    answer = ask(client, hardware="h100-sxm")
    assert answer.status_code == 200, answer.text
    assert answer.json()["communication_time"] == without["communication_time"]


def alone(line: str) -> str:
    """One rank moves nothing over a bus."""
    prefix, _, rest = line.partition(">:")
    cells = rest.split()
    if not cells or not cells[0].isdigit():
        return line
    cells[7] = cells[11] = "0.00"
    return f"{prefix}>: {' '.join(cells)}"


def test_a_faulty_curve_warns_with_the_size_range(client: TestClient) -> None:
    lines = P5.read_text().split("\n")
    taken = bring(client, "\n".join(map(slow, lines)), hardware="h100-slow")
    assert taken.status_code == 200
    (curve,) = client.get("/v1/curves", params={"hardware": "h100-slow"}).json()["items"]
    assert curve["doubts"]
    warnings = ask(client, hardware="h100-slow").json()["warnings"]
    assert any("check the configuration: all_reduce among 8 ranks" in one for one in warnings)


def slow(line: str) -> str:
    """Three times the time of messages from 4 to 64 MiB."""
    prefix, _, rest = line.partition(">:")
    cells = rest.split()
    if not cells or not cells[0].isdigit() or not 4 << 20 <= int(cells[0]) <= 64 << 20:
        return line
    for at in (5, 9):
        cells[at] = f"{float(cells[at]) * 3:.1f}"
        cells[at + 1], cells[at + 2] = (f"{float(cells[at + i]) / 3:.2f}" for i in (1, 2))
    return f"{prefix}>: {' '.join(cells)}"


def test_a_measured_series_answers_first_and_beyond_its_batches_it_says_so(
    client: TestClient, sessions: Sessions
) -> None:
    client.post("/v1/sweeps", json={**BODY, "batch": [1, 4, 16, 64]})
    measure_all(sessions, lambda spec: 100 + 10 * spec.batch / spec.tp_degree)
    measured = {
        "hardware": HARDWARE.accelerator,
        "model": "pythia-31m",
        "phase": "train",
        "seq": 1,
        "tp_degree": 2,
        "dtype": "float32",
    }
    inside = ask(client, **measured, batch=16).json()
    assert inside["step_time"]["basis"] == "measured"
    assert inside["step_time"]["time_us"] == pytest.approx(180, rel=0.01)
    assert "trials of this point at batches 1 to 64" in inside["step_time"]["calibration"]
    beyond = ask(client, **measured, batch=256).json()
    assert beyond["step_time"]["basis"] == "extrapolated"
    assert beyond["warnings"] == ["batch 256 lies beyond the measured 1 to 64"]
    assert beyond["step_time"]["time_us"] == pytest.approx(1380, rel=0.1)


def test_steps_of_other_points_on_the_same_hardware_answer_for_a_new_one(
    client: TestClient, sessions: Sessions
) -> None:
    client.post("/v1/sweeps", json={**BODY, "batch": [4, 8, 16, 32, 64, 128, 256, 512]})
    measure_all(sessions, lambda spec: 100 + 10 * spec.batch / spec.tp_degree)
    new = {
        "hardware": HARDWARE.accelerator,
        "model": "gpt2",
        "phase": "train",
        "tp_degree": 2,
        "dtype": "float32",
    }
    answer = ask(client, **new, batch=64, seq=1)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["compute_time"]["basis"] == "fitted", found
    assert "trials of mlp train on" in found["compute_time"]["calibration"]
    assert found["compute_time"]["low_us"] < found["compute_time"]["time_us"]
    assert 0 < found["communication_share"] < 1
    large = ask(client, **new, batch=8192, seq=1).json()
    assert large["compute_time"]["basis"] == "extrapolated"


def test_more_ranks_than_cores_are_extrapolated_and_not_recommended(
    client: TestClient, sessions: Sessions
) -> None:
    """What they took is the scheduler's as well: nothing else is predicted from it."""
    bring(client, P5.read_bytes(), hardware=HARDWARE.accelerator)
    body = {**BODY, "blocks": ["attention", "mlp"], "batch": [4, 16, 64, 256]}
    client.post("/v1/sweeps", json=body)
    measure_all(sessions, lambda spec: 100 + 10 * spec.batch)
    client.post("/v1/sweeps", json={**body, "tp_degree": 4})
    measure_all(sessions, lambda spec: 100 + 10 * spec.batch, quality=("oversubscribed",))
    new: dict[str, str | int] = {
        "model": "gpt2",
        "phase": "train",
        "dtype": "float32",
        "seq": 1,
        "batch": 64,
    }
    answer = ask(client, hardware=HARDWARE.accelerator, tp_degree=4, **new)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["compute_time"]["basis"] == found["step_time"]["basis"] == "extrapolated"
    assert "16 trials of mlp train" in found["compute_time"]["calibration"]
    assert any("compute: extrapolated from 16 trials" in one for one in found["warnings"])
    (one,) = client.get("/v1/recommendation", params=new).json()["items"]
    bases = {it["tp_degree"]: it["basis"] for it in one["candidates"]}
    assert bases == {1: "predicted", 2: "predicted", 4: None, 8: None}


def test_steps_that_differ_in_their_sequence_alone_answer_too(
    client: TestClient, sessions: Sessions
) -> None:
    body = {"phase": "prefill", "tp_degree": 1, "batch": 1, "seq": [2**k for k in range(4, 12)]}
    client.post("/v1/sweeps", json={**BODY, **body})
    measure_all(sessions, lambda spec: 100 + spec.seq)
    new = {"hardware": HARDWARE.accelerator, "model": "gpt2", "tp_degree": 1, "dtype": "float32"}
    answer = ask(client, **new, seq=100)
    assert answer.status_code == 200, answer.text
    found = answer.json()["compute_time"]
    assert found["basis"] == "fitted"
    assert found["low_us"] < found["time_us"] < found["high_us"]
    which = "model=gpt2&phase=prefill&dtype=float32&seq=100"
    assert client.get(f"/v1/recommendation?{which}").status_code == 200


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"hardware": "Cray-1"}, "/hardware", "known are"),
        ({"hardware": ""}, "/hardware", ""),
        ({"tp_degree": 3}, "/intermediate_size", "tp_degrees that work: 1, 2, 4"),
        ({"hardware": "Tesla T4"}, "/dtype", "float16 works"),
        ({"batch": 0}, "/batch", ""),
        ({"model": "gpt-9"}, "/model", "not a known model"),
        ({"speed": 1}, "/speed", ""),
    ],
)
def test_what_is_wrong_is_named(
    client: TestClient, changes: dict[str, object], pointer: str, words: str
) -> None:
    answer = ask(client, **changes)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert words in answer.text
