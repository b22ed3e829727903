import json
from pathlib import Path

import pytest

from service.cli.exits import ExitCode
from tests.unit.cli.answers import SWEEP_ID, sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply, stream

PLAN, ANSWER = "POST /v1/advice/plan", "POST /v1/advice"
LAYER = {"name": "gpt2", "hidden_size": 768}


def plan(stage: str) -> object:
    return {
        "stage": stage,
        "hardware": "Test CPU",
        "layer": LAYER,
        "scale": 1.0,
        "estimated_s": 40.0,
        "reason": "one layer of gpt2 as it is",
        "sweep": {"stands for": stage},
    }


def curve(tp_degree: int, *times_us: float) -> object:
    steps = [
        {"batch": 4**k, "step_time_us": {"median": time, "ci_low": 0.9 * time, "ci_high": time}}
        for k, time in enumerate(times_us)
    ]
    return {"tp_degree": tp_degree, "steps": steps}


def candidate(tp_degree: int, basis: str | None, reason: str) -> object:
    return {
        "tp_degree": tp_degree,
        "basis": basis,
        "step_time_us": basis and 120.0,
        "low_us": basis and 100.0,
        "high_us": basis and 150.0,
        "communication_share": basis and 0.1,
        "reason": reason,
    }


def advice() -> dict[str, object]:
    candidates = [
        candidate(1, "measured", "the smallest degree that fits"),
        candidate(2, "measured", "not beyond doubt"),
        candidate(4, None, "nothing was measured"),
    ]
    return {
        "model": "gpt2",
        "hardware": "Test CPU",
        "measured": LAYER,
        "is_asked": True,
        "curves": [curve(1, 100, 400, 1600), curve(2, 300, 500, 1000)],
        "crossings": [
            {
                "tp_degree": 2,
                "pays_against": 1,
                "pays_from": {"state": "crossed", "batch": 6.0},
            }
        ],
        "recommendations": [
            {
                "hardware": "Test CPU",
                "batch": batch,
                "tp_degree": degree,
                "basis": "measured",
                "candidates": candidates,
                "sentence": "…",
            }
            for batch, degree in ((1, 1), (4, 1), (16, 2))
        ],
        "quality": [],
        "sentences": ["faster than tp_degree 1 from batch 6 (5 to 7)"],
    }


@pytest.fixture
def answering(fake: FakeServer) -> FakeServer:
    fake.on("GET /readyz", Reply({}))
    fake.on(PLAN, Reply(plan("probe")), Reply(plan("sweep")))
    fake.on("POST /v1/sweeps", Reply(sweep(), status=202))
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}", Reply(sweep("succeeded", done=6)))
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}/events", stream())
    fake.on(ANSWER, Reply(advice()))
    return fake


def test_it_measures_a_probe_and_the_sweep_and_shows_what_they_say(
    answering: FakeServer, run: Run
) -> None:
    pytest.importorskip("plotille")
    shown = run("advise", "--model", "gpt2", "--threshold", "0.3")
    assert shown.code == ExitCode.OK, shown.err
    assert "measuring one layer of gpt2 as it is; about 40 s" in shown.out
    assert "from batch 6 (5 to 7)" in shown.out
    assert "120 [100, 150] us" in shown.out
    assert "tp_degree 4: nothing was measured" in shown.out
    assert "gpt2: tp_degree 1 from batch 1 on (measured), tp_degree 2 from batch 16 on" in shown.out
    plans = [json.loads(one.body) for one in answering.calls(PLAN)]
    assert [one.get("probe") for one in plans] == [None, SWEEP_ID]
    sent = [json.loads(one.body) for one in answering.calls("POST /v1/sweeps")]
    assert sent == [{"stands for": "probe"}, {"stands for": "sweep"}]
    (asked,) = answering.calls(ANSWER)
    assert json.loads(asked.body) == {
        "model": "gpt2",
        "sweep": SWEEP_ID,
        "objective": "latency",
        "threshold": 0.3,
    }


def test_only_what_may_be_better_than_the_chosen_degree_is_in_doubt(
    answering: FakeServer, run: Run
) -> None:
    pytest.importorskip("plotille")
    candidates = [
        {"tp_degree": 1, "reason": "the smallest"},
        {"tp_degree": 2, "reason": "cannot tell", "is_undecided": True, "over": 1},
        {"tp_degree": 4, "reason": "faster", "over": 1},
        {"tp_degree": 8, "reason": "cannot tell", "is_undecided": True, "over": 4},
    ]
    one = {"hardware": "Test CPU", "batch": 1, "tp_degree": 4, "basis": "measured"}
    one |= {"candidates": candidates, "sentence": "…"}
    answering.on(ANSWER, Reply(advice() | {"recommendations": [one]}))
    shown = run("advise", "--model", "gpt2")
    assert "(measured; cannot tell whether 8 is better)" in shown.out


@pytest.mark.usefixtures("answering")
def test_the_plot_marks_the_crossing_and_names_the_curves(run: Run) -> None:
    pytest.importorskip("plotille")
    shown = run("advise", "--model", "gpt2").out
    drawn = shown[shown.index("(step of gpt2)") : shown.index("Legend")]
    assert drawn.count("X") == 1
    assert "(batch)" in drawn
    assert "tp_degree 1" in shown[shown.index("Legend") :]


@pytest.mark.usefixtures("answering")
def test_json_is_the_whole_answer_and_the_progress_stays_beside_it(run: Run) -> None:
    shown = run("advise", "--model", "gpt2", "--json")
    assert json.loads(shown.out) == advice()
    assert "a probe on Test CPU" in shown.err


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_where_no_degree_is_possible_the_answer_is_no(
    answering: FakeServer, run: Run, options: tuple[str, ...]
) -> None:
    pytest.importorskip("plotille")
    nothing = {"hardware": "Test CPU", "batch": 1, "tp_degree": None, "basis": None}
    nothing |= {"candidates": [candidate(1, None, "does not fit")], "sentence": "…"}
    found = advice() | {"recommendations": [nothing]}
    answering.on(ANSWER, Reply(found))
    shown = run("advise", "--model", "gpt2", *options)
    assert shown.code == ExitCode.NEGATIVE
    assert shown.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--model", "lama-2-7b"), "did you mean llama-2-7b"),
        (("--model", "gpt2", "--objective", "speed"), "'latency', 'throughput'"),
        (("--model", "gpt2", "--phase", "sleep"), "'decode'"),
        (("--model", "gpt2", "--batch", "1,many"), "whole numbers"),
        ((), "--model"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    fake: FakeServer, run: Run, arguments: tuple[str, ...], says: str
) -> None:
    shown = run("advise", *arguments)
    assert shown.code == ExitCode.USAGE
    assert says in shown.err
    assert fake.received == []


def test_a_named_service_that_is_away_is_not_replaced(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TPSWEEP_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TPSWEEP_HOME", str(tmp_path))
    assert run("advise", "--model", "gpt2").code == ExitCode.UNREACHABLE
    assert list(tmp_path.iterdir()) == []
