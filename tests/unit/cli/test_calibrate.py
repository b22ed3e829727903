import json

from service.cli.exits import ExitCode
from tests.unit.cli.answers import SWEEP_ID, page, sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply

ROOFLINE = {
    "hardware": "some CPU",
    "dtype": "float32",
    "num_ranks": 2,
    "tflop_per_s": 0.1,
    "memory_gb_per_s": 10.0,
    "memory_basis": "copy",
    "copies": [{"copied_bytes": 1 << 26, "time_us": 13422.0, "gb_per_s": 10.0}],
    "ridge_flop_per_byte": 10.0,
    "published": None,
    "products": [
        {
            "m": 64,
            "n": 256,
            "k": 256,
            "time_us": 500.0,
            "flop_per_byte": 20.0,
            "tflop_per_s": 0.05,
            "gb_per_s": 2.0,
        }
    ],
}
CURVE = {
    "hardware": "some CPU",
    "op": "all_reduce",
    "collective_impl": "shared_memory",
    "dtype": "float",
    "num_ranks": 2,
    "num_nodes": 1,
    "doubts": [],
    "rows": [
        {
            "message_bytes": 1024,
            "out_of_place": None,
            "in_place": {"time_us": 20.0, "busbw_gb_per_s": 0.05},
        }
    ],
}


def test_a_calibration_is_followed_and_shown(fake: FakeServer, run: Run) -> None:
    fake.on("POST /v1/calibrations", Reply(sweep("queued"), status=202))
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}", Reply(sweep("succeeded", done=6)))
    fake.on("GET /v1/roofline", Reply(page(ROOFLINE)))
    fake.on("GET /v1/curves", Reply(page(CURVE)))
    outcome = run("calibrate", "--tp", "1,2", "--impl", "backend", "--max-bytes", "4096")
    assert outcome.code == ExitCode.OK
    assert json.loads(fake.received[0].body) == {
        "tp_degree": [1, 2],
        "collective_impl": ["backend"],
        "max_bytes": 4096,
        "time_s": 100.0,
    }
    assert "all_reduce by shared_memory" in outcome.out
    assert "50%" in outcome.out
    assert "10 GB/s by copy" in outcome.out
    assert "a copy of 64 MiB: 13.4 ms, 10 GB/s read and written" in outcome.out


def test_what_the_time_cuts_is_named(fake: FakeServer, run: Run) -> None:
    fake.on("POST /v1/calibrations", Reply(sweep("queued"), status=202))
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}", Reply(sweep("cancelled", done=6)))
    fake.on("GET /v1/roofline", Reply(page(ROOFLINE)))
    fake.on("GET /v1/curves", Reply(page(CURVE)))
    product = {"kind": "gemm", "tp_degree": 2, "m": 1, "n": 64, "k": 256}
    read = {"spec": product, "state": "partial", "counts": {"succeeded": 1, "cancelled": 1}}
    unread = {"spec": product, "state": "cancelled", "counts": {"cancelled": 2}}
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}/points", Reply(page(read, read)))
    outcome = run("calibrate", "--time", "30")
    assert outcome.code == ExitCode.OK
    assert "2 of 2 probes were read less often than asked" in outcome.out
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}/points", Reply(page(read, unread)))
    outcome = run("calibrate")
    assert outcome.code == ExitCode.NEGATIVE
    assert "never read: product 1 x 64 x 256 among 2" in outcome.out


def test_no_roofline_says_how_to_get_one(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/roofline", Reply(page()))
    assert "tpsweep calibrate" in run("roofline").out
