"""Results as the terminal shows them."""

import pytest

from tests.unit.cli.answers import SWEEP_ID, page, result
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply


def test_results_show_speed_up_against_one_device(fake: FakeServer, run: Run) -> None:
    points = page(result(step_us=300), result(tp_degree=2, step_us=200))
    fake.on("GET /v1/results", Reply(points))
    outcome = run("results", "--sweep", SWEEP_ID, "--tp-degree", "2")
    assert fake.received[0].query == {"sweep": [SWEEP_ID], "tp_degree": ["2"], "limit": ["200"]}
    row = next(line for line in outcome.out.splitlines() if "200 [190, 210] us" in line)
    assert "1.50x" in row
    assert "25%" in row
    assert row.split()[-1] == "2"
    assert "pythia-31m mlp train, float32" in outcome.out


def test_results_fit_a_narrow_terminal_and_explain_their_marks(
    fake: FakeServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    noisy = result(
        tp_degree=2,
        step_us=123456,
        quality=["busy_host", "exposed_not_resolved"],
        quality_notes=["unstable: read with care"],
    )
    fake.on("GET /v1/results", Reply(page(result(step_us=123456), noisy)))
    lines = [line.rstrip() for line in run("results").out.splitlines()]
    row = next(line for line in lines if "123 [117, 130] ms" in line and line.endswith("ab"))
    assert "…" not in row
    assert "a  unstable: read with care" in lines
    assert "b  exposed_not_resolved" in lines, "a flag without words is its own"


def test_a_result_of_a_noisy_host_is_still_one_line_of_a_narrow_terminal(
    fake: FakeServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    flags = ["noisy_host", "busy_host", "perturbed"]
    noisy = result(tp_degree=2, step_us=1640, quality=flags, control={"noise_grade": "D"})
    fake.on("GET /v1/results", Reply(page(noisy)))
    lines = [line.rstrip() for line in run("results").out.splitlines()]
    (row,) = (line for line in lines if "1.64 [1.56, 1.72] ms" in line)
    assert row.endswith("D abc")
    assert any(line.startswith("A to D  how much") for line in lines)


def test_results_stand_beside_what_was_predicted_of_them(fake: FakeServer, run: Run) -> None:
    forecast = {
        "time_us": 150.0,
        "low_us": 120.0,
        "high_us": 190.0,
        "basis": "fitted",
        "error": 0.5,
        "is_within": False,
    }
    near = {**forecast, "time_us": 100.0, "low_us": 90.0, "error": 0.0, "is_within": True}
    found = page(
        result(batch=1, prediction=forecast), result(batch=4, prediction=near), result(batch=8)
    )
    fake.on("GET /v1/results", Reply(found))
    out = " ".join(run("results", "--predicted").out.split())
    assert "150 [120, 190] us +50% * fitted" in out
    assert "1 of 2 step times lie in the band, meant for 9 in 10; * those" in out


def test_results_of_different_sweeps_are_not_each_others_baseline(
    fake: FakeServer, run: Run
) -> None:
    other = result(tp_degree=2, step_us=200, sweep_id="another")
    fake.on("GET /v1/results", Reply(page(result(step_us=300), other)))
    assert "1.50x" not in run("results").out


def test_ranks_of_a_stack_are_shown_with_their_idle_share(fake: FakeServer, run: Run) -> None:
    idle = {"share_by_rank": [0.512, 0.493], "ideal_share": 0.5}
    fake.on("GET /v1/results", Reply(page(result(tp_degree=2, idle=idle))))
    assert "ranks idle for 51%, 49% of the step; (P-1)/P is 50%" in run("results").out
