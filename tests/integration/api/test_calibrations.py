"""A calibration over HTTP: asked for, measured, and read as curves and rooflines."""

import pytest
from fastapi.testclient import TestClient

from service.store.engine import Sessions
from tests.integration.api.importing import bring
from tests.integration.api.measuring import calibrate_all, register
from tests.unit.analysis.trials import HARDWARE
from workers.contract.axes import Dtype
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe, Probe

ASKED = {
    "tp_degree": [1, 2],
    "max_bytes": 8192,
    "time_s": 30.0,
    "products": {"widths": [256, 1024], "largest_gflop": 0.2},
}
LATENCY_US, BYTES_PER_US = 20.0, 1000.0


def time_us(probe: Probe) -> float:
    """A link of 1 GB/s, and a device of 100 GFLOP/s that reads 10 GB/s and copies 16."""
    if isinstance(probe, CollectiveProbe):
        return LATENCY_US + probe.message_bytes / BYTES_PER_US
    if isinstance(probe, CopyProbe):
        return probe.moved_bytes / 16e3
    return max(probe.flops / 1e5, probe.moved_bytes / 1e4)


@pytest.fixture
def calibrated(client: TestClient, sessions: Sessions) -> TestClient:
    register(sessions)
    sweep = client.post("/v1/calibrations", json=ASKED)
    assert sweep.status_code == 202, sweep.text
    assert sweep.headers["Location"] == f"/v1/sweeps/{sweep.json()['id']}"
    assert calibrate_all(sessions, time_us) == 2 * sweep.json()["num_points"]
    found = client.get(sweep.headers["Location"]).json()
    sampled_s = found["spec"]["sampling"]["max_time_s"] * found["trial_counts"]["succeeded"]
    assert 5 < sampled_s < found["spec"]["time_s"]
    assert (found["state"], found["spec"]["collective_impl"]) == (
        "succeeded",
        ["backend", "shared_memory"],
    )
    return client


def test_every_collective_and_implementation_gets_its_curve(calibrated: TestClient) -> None:
    curves = calibrated.get("/v1/curves", params={"hardware": HARDWARE.accelerator}).json()["items"]
    assert {(one["op"], one["collective_impl"], one["num_ranks"]) for one in curves} == {
        ("all_reduce", "backend", 2),
        ("all_reduce", "shared_memory", 2),
        ("all_gather", "backend", 2),
        ("reduce_scatter", "backend", 2),
    }
    (gather,) = (one for one in curves if one["op"] == "all_gather")
    assert gather["origin"] == "measured"
    assert [row["message_bytes"] for row in gather["rows"]] == [1024, 2048, 4096, 8192]
    last = gather["rows"][-1]["out_of_place"]
    assert last["time_us"] == pytest.approx(28.192)
    assert last["algbw_gb_per_s"] == pytest.approx(8.192 / 28.192)
    assert last["busbw_gb_per_s"] == pytest.approx(8.192 / 28.192 / 2)


def test_curves_go_out_in_the_layout_of_nccl_tests_and_come_back(calibrated: TestClient) -> None:
    text = calibrated.get("/v1/curves", params={"format": "nccl-tests"}).text
    assert "# collective_impl shared_memory" in text
    report = bring(calibrated, text, hardware="elsewhere").json()
    assert (report["num_taken"], report["skipped"]) == (16, [])


def test_the_roofline_shows_rates_of_products_and_of_memory(calibrated: TestClient) -> None:
    lines = calibrated.get("/v1/roofline").json()["items"]
    assert [(one["dtype"], one["num_ranks"]) for one in lines] == [("float32", 1), ("float32", 2)]
    assert lines[0]["tflop_per_s"] == pytest.approx(0.1, rel=0.01)
    assert lines[0]["memory_gb_per_s"] == pytest.approx(16)
    assert lines[0]["memory_basis"] == "copy"
    assert lines[0]["copies"] == [
        {"copied_bytes": 1 << 26, "time_us": pytest.approx((1 << 27) / 16e3), "gb_per_s": 16.0}
    ]
    assert lines[0]["ridge_flop_per_byte"] == pytest.approx(6.25, rel=0.02)
    assert lines[0]["published"] is None


def test_probes_are_no_results_of_blocks(calibrated: TestClient) -> None:
    assert calibrated.get("/v1/results").json()["items"] == []
    sweep = calibrated.get("/v1/sweeps").json()["items"][0]
    point = calibrated.get(f"/v1/sweeps/{sweep['id']}/points").json()["items"][0]
    assert (point["spec"]["kind"], point["state"]) == ("collective", "succeeded")
    key = calibrated.get(f"/v1/fingerprints/{point['spec_key']}").json()
    assert "message_bytes" in {one["field"] for one in key["fields"]}


def test_predictions_rest_on_the_calibration_and_say_so(calibrated: TestClient) -> None:
    asked = {
        "hardware": HARDWARE.accelerator,
        "block": "mlp",
        "phase": "prefill",
        "model": "pythia-31m",
        "tp_degree": 2,
        "batch": 2,
        "dtype": "float32",
    }
    found = calibrated.post("/v1/predict", json=asked).json()
    message_bytes = 2 * 256 * 4
    assert found["communication_time"]["time_us"] == pytest.approx(20 + message_bytes / 1000)
    assert found["communication_time"]["basis"] == "measured"
    assert "calibration, sweep" in found["communication_time"]["calibration"]
    assert "products and a copy of a calibration" in found["compute_time"]["calibration"]
    probe = GemmProbe(m=2, n=512, k=256, tp_degree=2, dtype=Dtype.FLOAT32)
    assert found["compute_time"]["time_us"] == pytest.approx(2 * time_us(probe), rel=0.25)


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"tp_degree": 64}, "/tp_degree"),
        ({"collectives": "send_recv"}, "/collectives/0"),
        ({"collective_impl": "two_shot"}, "/collective_impl"),
        ({"max_bytes": 10}, "/max_bytes"),
        ({"time_s": 15.0}, "/time_s"),
        ({"where": {"accelerator": "H100"}}, "/where/accelerator"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_its_field(
    client: TestClient, sessions: Sessions, wrong: dict[str, object], pointer: str
) -> None:
    register(sessions)
    answer = client.post("/v1/calibrations", json=wrong)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_more_combinations_than_a_sweep_may_have_are_refused_and_not_queued(
    client: TestClient, sessions: Sessions
) -> None:
    register(sessions)
    wide = {"widths": list(range(16, 316)), "largest_gflop": 0.2}
    answer = client.post("/v1/calibrations", json={**ASKED, "products": wide})
    assert (answer.status_code, answer.json()["code"]) == (422, "quota_exceeded")
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/products/widths"
    assert "900000 of them" in error["detail"]
    assert "a sweep may have 10000" in error["detail"]
    assert client.get("/v1/sweeps").json()["items"] == []


def test_nothing_is_calibrated_before_a_device_is_known(client: TestClient) -> None:
    answer = client.post("/v1/calibrations", json={})
    assert answer.status_code == 422
    assert "no device is known yet" in answer.json()["errors"][0]["detail"]


def test_one_key_calibrates_once(client: TestClient, sessions: Sessions) -> None:
    register(sessions)
    headers = {"Idempotency-Key": "once"}
    first, again = (
        client.post("/v1/calibrations", json=ASKED, headers=headers).json()["id"] for _ in range(2)
    )
    assert first == again
