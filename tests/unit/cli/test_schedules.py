import json
from pathlib import Path

from service.cli.exits import ExitCode
from tests.unit.cli.answers import SWEEP_ID, page
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply, problem

PATH = "/v1/schedules/nightly"
SCHEDULE: dict[str, object] = {
    "id": "0199bbbb-0000-7000-8000-000000000001",
    "name": "nightly",
    "cron": "0 2 * * *",
    "zone": "Europe/Berlin",
    "baseline": "good",
    "catch_up": "latest",
    "overlap": "skip",
    "pause": None,
    "next_starts": ["2026-01-03T01:00:00Z", "2026-01-04T01:00:00Z"],
}
PAUSED = {**SCHEDULE, "pause": {"since": "2026-01-01T00:00:00Z", "until": None, "reason": "fan"}}
FIRED = {
    "scheduled_for": "2026-01-02T01:00:00Z",
    "decided_at": "2026-01-02T01:00:01Z",
    "action": "fired",
    "reason": "on time",
    "sweep_id": SWEEP_ID,
}


def test_the_list_shows_state_and_next_start(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/schedules", Reply(page(SCHEDULE, {**PAUSED, "name": "weekly"})))
    out = run("schedules").out
    assert "2026-01-03 01:00" in out
    assert "paused: fan" in out


def test_create_sends_the_file_with_its_policies(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.json"
    file.write_text('{"models": "pythia-31m"}')
    fake.on("POST /v1/schedules", Reply(SCHEDULE, status=201))
    outcome = run("schedule", "create", "nightly", str(file), "--cron", "0 2 * * *", "--jitter=60")
    assert outcome.code == ExitCode.OK, outcome.err
    sent = json.loads(fake.received[0].body)
    assert sent["sweep"] == {"models": "pythia-31m"}
    assert (sent["cron"], sent["zone"], sent["jitter_s"]) == ("0 2 * * *", "UTC", 60)
    assert "next starts (UTC): 2026-01-03 01:00, 2026-01-04 01:00" in outcome.out


def test_a_wrong_field_is_shown_as_the_server_says_it(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.json"
    file.write_text("{}")
    detail = "/cron: the hour '25' is not possible"
    fake.on("POST /v1/schedules", problem(422, "invalid_request", "Not valid", detail))
    outcome = run("schedule", "create", "nightly", str(file), "--cron", "0 25 * * *")
    assert (outcome.code, detail in outcome.err) == (ExitCode.REFUSED, True)


def test_show_gives_every_decision_with_its_reason(fake: FakeServer, run: Run) -> None:
    fake.on(f"GET {PATH}", Reply(SCHEDULE))
    fake.on(f"GET {PATH}/decisions", Reply(page(FIRED)))
    bridge = {
        "first": {"sweep_id": SWEEP_ID, "at": "2026-01-02T01:00:00Z"},
        "sentence": "from L4 to H100: faster",
    }
    fake.on(f"GET {PATH}/bridges", Reply(page(bridge)))
    shown = run("schedule", "show", "nightly")
    assert "held against baseline good" in shown.out
    assert "on time" in shown.out
    assert "2026-01-02 01:00 from L4 to H100: faster" in shown.out
    document = json.loads(run("schedule", "show", "nightly", "--json").out)
    assert document["decisions"]["items"] == [FIRED]


def test_pause_run_resume_and_delete(fake: FakeServer, run: Run) -> None:
    fake.on(f"POST {PATH}/pause", Reply(PAUSED))
    fake.on(f"POST {PATH}/resume", Reply(SCHEDULE))
    fake.on(f"POST {PATH}/run", Reply(FIRED, status=202))
    fake.on(f"DELETE {PATH}", Reply(status=204))
    assert "paused: fan" in run("schedule", "pause", "nightly", "--reason", "fan").out
    assert json.loads(fake.received[0].body) == {"reason": "fan", "until": None}
    assert run("schedule", "resume", "nightly").code == ExitCode.OK
    assert f"tpsweep watch {SWEEP_ID}" in run("schedule", "run", "nightly").out
    assert run("schedule", "delete", "nightly").code == ExitCode.OK
