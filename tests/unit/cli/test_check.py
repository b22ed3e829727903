"""`tpsweep check`: exit code, JUnit XML, annotations; and the commands that pin baselines."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from service.api.answers import answers
from service.cli.exits import ExitCode
from tests.unit.cli.answers import SWEEP_ID, page, spec, sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply, problem

SHOW, COMPARE = f"GET /v1/sweeps/{SWEEP_ID}", "GET /v1/compare"
BASELINE = {"name": "good", "sweep_id": SWEEP_ID, "note": "", "expires_at": None}


def compared(verdict: str, *, batch: int = 4, ratio: float = 1.0) -> dict[str, object]:
    return {
        "ratio": ratio,
        "ci_low": ratio - 0.02,
        "ci_high": ratio + 0.02,
        "verdict": verdict,
        "spec": spec(batch=batch),
        "baseline": {"step_time_us": 100},
        "candidate": {"step_time_us": 100 * ratio},
    }


def comparison(*points: object, overall: str = "same", **more: object) -> dict[str, object]:
    ratio = {"ratio": 1.0, "ci_low": 0.99, "ci_high": 1.01, "verdict": overall}
    document: dict[str, object] = {
        "overall": ratio if points else None,
        "points": list(points),
        "unmatched_baseline": [],
        "unmatched_candidate": [],
        "differences": [],
        "sentence": f"{overall}: what the server says",
    }
    return {**document, **more}


def answer(fake: FakeServer, found: object, *, state: str = "succeeded") -> None:
    fake.on(COMPARE, Reply(found))
    fake.on(SHOW, Reply(sweep(state, done=6)))


CHECK = ("check", SWEEP_ID, "--baseline", "good")


@pytest.mark.parametrize(
    ("found", "state", "code"),
    [
        (comparison(compared("same")), "succeeded", ExitCode.OK),
        (comparison(compared("faster"), compared("inconclusive")), "succeeded", ExitCode.OK),
        (comparison(compared("same"), compared("slower")), "succeeded", ExitCode.NEGATIVE),
        (comparison(compared("same"), overall="slower"), "succeeded", ExitCode.NEGATIVE),
        (comparison(), "succeeded", ExitCode.NEGATIVE),
        (comparison(compared("same")), "partial", ExitCode.NEGATIVE),
        (comparison(compared("same")), "running", ExitCode.NEGATIVE),
    ],
)
def test_the_exit_code_is_the_answer(
    fake: FakeServer, run: Run, found: dict[str, object], state: str, code: ExitCode
) -> None:
    answer(fake, found, state=state)
    outcome = run(*CHECK)
    assert outcome.code == code
    assert fake.calls(COMPARE)[0].query == {"baseline": ["good"], "candidate": [SWEEP_ID]}
    assert "what the server says" in outcome.out
    told = json.loads(run(*CHECK, "--json").out)
    assert told["passes"] is (code is ExitCode.OK)
    assert told["sentence"] == found["sentence"]


@pytest.mark.parametrize("state", ["partial", "failed", "running"])
def test_json_says_what_speaks_against_the_sweep(fake: FakeServer, run: Run, state: str) -> None:
    answer(fake, comparison(compared("same")), state=state)
    outcome = run(*CHECK, "--json")
    told = json.loads(outcome.out)
    assert (outcome.code, told["passes"]) == (ExitCode.NEGATIVE, False)
    assert f"sweep {SWEEP_ID} is " in told["problem"]
    assert told["points"][0]["verdict"] == "same"


def test_json_and_annotations_are_not_asked_for_at_once(fake: FakeServer, run: Run) -> None:
    outcome = run(*CHECK, "--json", "--github")
    assert outcome.code == ExitCode.USAGE
    assert "leave out one of the two" in outcome.err
    assert fake.received == []


def test_a_sweep_that_goes_on_is_said_to(fake: FakeServer, run: Run) -> None:
    answer(fake, comparison(compared("same")), state="running")
    assert f"not over; follow it with: tpsweep watch {SWEEP_ID}" in run(*CHECK).out


def test_junit_has_a_case_for_each_point(fake: FakeServer, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    missing = [{"spec": spec(batch=9)}]
    points = (compared("slower", batch=1, ratio=1.3), compared("same", batch=2))
    answer(fake, comparison(*points, unmatched_baseline=missing))
    assert run(*CHECK, "--junit", str(file)).code == ExitCode.NEGATIVE
    (suite,) = ET.fromstring(file.read_bytes())  # noqa: S314 - our own
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    slower, same, skipped = suite
    failure = slower.find("failure")
    assert failure is not None
    assert failure.get("message") == ("slower: 100 us -> 130 us, ratio 1.300 [1.280, 1.320]")
    assert slower.get("time") == "0.000130000"
    assert same.find("failure") is None
    assert skipped.find("skipped") is not None
    assert len({case.get("name") for case in suite}) == 3


def test_junit_says_what_speaks_against_the_sweep(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "junit.xml"
    answer(fake, comparison(compared("same")), state="failed")
    run(*CHECK, "--junit", str(file))
    assert f"sweep {SWEEP_ID} is failed" in file.read_text()
    outcome = run(*CHECK, "--junit", str(tmp_path / "no" / "where.xml"))
    assert (outcome.code, "cannot be written" in outcome.err) == (ExitCode.USAGE, True)


def test_sides_that_do_not_compare_fail_and_ci_is_told(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "junit.xml"
    apart = [{"pointer": "?allow_different", "detail": "hardware.accelerator: A against B"}]
    answer(fake, None)
    fake.on(COMPARE, problem(422, "not_comparable", "They do not compare", "x", errors=apart))
    outcome = run(*CHECK, "--junit", str(file))
    assert outcome.code == ExitCode.NEGATIVE
    assert "hardware.accelerator: A against B" in outcome.out
    assert "no point was measured on both sides" in file.read_text()
    told = json.loads(run(*CHECK, "--json").out)
    assert (told["points"], told["passes"]) == ([], False)
    assert "no point was measured on both sides" in told["problem"]
    fake.on(COMPARE, problem(404, "not_found", "No such thing", "no baseline"))
    assert run(*CHECK).code == ExitCode.REFUSED


def test_annotations_name_the_worst_and_cannot_be_forged(fake: FakeServer, run: Run) -> None:
    points = [compared("slower", batch=n, ratio=1 + n / 100) for n in range(10, 25)]
    evil = compared("slower", ratio=3)
    evil["spec"] = {**spec(), "model": {"name": "a,b::error::%0A\n::set-env", "hidden_size": 1}}
    answer(fake, comparison(*points, evil, compared("inconclusive"), overall="slower"))
    lines = run(*CHECK, "--github").out.splitlines()
    errors = [line for line in lines if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[0].startswith("::error title=slower%3A a%2Cb%3A%3Aerror%3A%3A%250A\\n%3A%3Aset")
    assert "batch 24" in errors[1]
    assert lines[-2].startswith("::warning title=tpsweep::1 points cannot be told")
    assert lines[-1] == "::notice title=tpsweep::slower: what the server says"


def test_the_servers_own_comparison_is_understood(fake: FakeServer, run: Run) -> None:
    answer(fake, answers()["compare_sweeps"].model_dump(mode="json"))
    assert run(*CHECK, "--json").code == ExitCode.OK


def test_baselines_are_pinned_moved_renamed_listed_and_removed(fake: FakeServer, run: Run) -> None:
    fake.on("POST /v1/baselines", Reply(BASELINE, status=201))
    fake.on("PATCH /v1/baselines/good", Reply(BASELINE))
    fake.on("GET /v1/baselines", Reply(page({**BASELINE, "is_expired": True})))
    fake.on("DELETE /v1/baselines/good", Reply(status=204))
    assert f"good stands for sweep {SWEEP_ID}" in run("baseline", "pin", "good", SWEEP_ID).out
    assert json.loads(fake.received[0].body) == {"name": "good", "sweep": SWEEP_ID}
    run("baseline", "pin", "good", SWEEP_ID, "--move", "--note", "again")
    assert json.loads(fake.received[1].body) == {"sweep": SWEEP_ID, "note": "again"}
    run("baseline", "rename", "good", "best")
    assert json.loads(fake.received[2].body) == {"name": "best"}
    assert "never expires" in run("baseline", "expire", "good").out
    assert json.loads(fake.received[3].body) == {"expires_at": None}
    fake.on("PATCH /v1/baselines/good", Reply({**BASELINE, "expires_at": "2099-01-01T00:00:00Z"}))
    assert "2099-01-01 00:00 UTC" in run("baseline", "expire", "good", "--days", "5").out
    assert "(expired)" in run("baseline", "list").out
    assert run("baseline", "remove", "good").code == ExitCode.OK


def test_candidates_are_shown_with_their_reasons(fake: FakeServer, run: Run) -> None:
    candidate = {"kind": "last_good", "sweep_id": "s1", "name": "good", "reason": "the newest"}
    found = {
        "candidates": [candidate],
        "passed_over": [{"sweep_id": "s2", "reason": "slower (1.2)"}],
        "sentence": "",
    }
    fake.on(f"{SHOW}/baselines", Reply(found))
    out = run("baseline", "candidates", SWEEP_ID).out
    assert "the newest" in out
    assert "passed over: sweep s2: slower (1.2)" in out
