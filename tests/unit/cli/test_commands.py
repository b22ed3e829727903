import json
from pathlib import Path

import pytest

from service.cli.exits import ExitCode
from service.cli.watching import describe
from service.cli.wire.sweeps import Sweep
from tests.unit.cli.answers import SWEEP_ID, page, spec, sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply, problem, stream

SHOW, EVENTS = f"GET /v1/sweeps/{SWEEP_ID}", f"GET /v1/sweeps/{SWEEP_ID}/events"


@pytest.fixture
def sweep_file(tmp_path: Path) -> str:
    path = tmp_path / "sweep.json"
    path.write_text('{"models": ["pythia-31m"], "blocks": "mlp", "tp_degree": 1, "batch": 1}')
    return str(path)


def test_submit_sends_the_file_as_it_is_and_says_how_to_follow(
    fake: FakeServer, run: Run, sweep_file: str
) -> None:
    fake.on("POST /v1/sweeps", Reply(sweep(), status=202))
    outcome = run("submit", sweep_file)
    assert outcome.code == ExitCode.OK
    assert fake.received[0].body == Path(sweep_file).read_bytes()
    assert fake.received[0].headers["Content-Type"] == "application/json"
    assert len(fake.received[0].headers["Idempotency-Key"]) == 32
    assert f"tpsweep watch {SWEEP_ID}" in outcome.out


def test_submit_json_prints_the_whole_document(fake: FakeServer, run: Run, sweep_file: str) -> None:
    fake.on("POST /v1/sweeps", Reply(sweep(), status=202))
    outcome = run("submit", sweep_file, "--json")
    assert json.loads(outcome.out) == sweep()


def test_submit_wait_fails_where_a_trial_failed(
    fake: FakeServer, run: Run, sweep_file: str
) -> None:
    fake.on("POST /v1/sweeps", Reply(sweep(), status=202))
    fake.on(SHOW, Reply(sweep("partial", done=6)))
    assert run("submit", sweep_file, "--wait").code == ExitCode.NEGATIVE


def test_refused_sweep_exits_with_its_own_code_and_no_traceback(
    fake: FakeServer, run: Run, sweep_file: str
) -> None:
    detail = "/blocks/0: Input should be 'mlp', 'attention' or 'layer'; got 'moe'"
    fake.on("POST /v1/sweeps", problem(422, "invalid_request", "The request is not valid", detail))
    outcome = run("submit", sweep_file)
    assert outcome.code == ExitCode.REFUSED
    assert outcome.err == (
        f"tpsweep: The request is not valid (invalid_request, HTTP 422)\n  {detail}\n"
    )


@pytest.mark.parametrize("command", ["sweeps", "results", "nodes"])
def test_nobody_listening_has_its_own_code(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPSWEEP_URL", "http://127.0.0.1:1")
    outcome = run(command)
    assert outcome.code == ExitCode.UNREACHABLE
    assert "tpsweep up" in outcome.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"models": ', "line 1 column 12"),
        ("", "line 1"),
        ("[" * 9000, "deep"),
        ("9" * 5000, "digits"),
    ],
)
def test_a_file_that_is_no_json_is_not_sent(
    fake: FakeServer, run: Run, tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "sweep.json"
    path.write_text(text)
    outcome = run("submit", str(path))
    assert outcome.code == ExitCode.USAGE
    assert says in outcome.err
    assert fake.received == []


def test_a_missing_file_is_a_usage_error(fake: FakeServer, run: Run) -> None:
    outcome = run("preview", "/nowhere/sweep.json")
    assert outcome.code == ExitCode.USAGE
    assert "/nowhere/sweep.json cannot be read: No such file" in outcome.err
    assert fake.received == []


def test_a_wrong_setting_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPSWEEP_PORT", "eighty")
    outcome = run("sweeps")
    assert outcome.code == ExitCode.USAGE
    assert "TPSWEEP_PORT" in outcome.err
    assert "'eighty'" in outcome.err


def test_preview_lists_points_and_what_would_work_for_the_others(
    fake: FakeServer, run: Run, sweep_file: str
) -> None:
    rejection = {
        "spec": spec(tp_degree=3),
        "field": "intermediate_size",
        "value": 1024,
        "reason": "intermediate_size=1024 is not divisible by tp_degree=3",
        "valid_tp_degrees": [1, 2, 4],
    }
    body = {"num_points": 1, "points": [spec()], "rejected": [rejection], "estimated_s": 21.0}
    fake.on("POST /v1/sweeps/preview", Reply({**body}))
    outcome = run("preview", sweep_file)
    assert outcome.code == ExitCode.OK
    assert "1 points, about 21 s" in outcome.out
    assert "not divisible by tp_degree=3 (works: tp_degree 1, 2, 4)" in outcome.out


def test_preview_of_nothing_is_a_no(fake: FakeServer, run: Run, sweep_file: str) -> None:
    body = {"num_points": 0, "points": [], "rejected": [], "estimated_s": 0}
    fake.on("POST /v1/sweeps/preview", Reply({**body}))
    assert run("preview", sweep_file).code == ExitCode.NEGATIVE


def test_watch_json_prints_each_event_and_the_finished_sweep(fake: FakeServer, run: Run) -> None:
    fake.on(SHOW, Reply(sweep("succeeded", done=6)))
    fake.on(EVENTS, stream((1, "trial_started", {"trial_id": "t"}), (2, "sweep_finished", {})))
    outcome = run("watch", SWEEP_ID, "--json")
    first, second, last = map(json.loads, outcome.out.splitlines())
    assert first == {"id": "1", "event": "trial_started", "data": {"trial_id": "t"}}
    assert second["event"] == "sweep_finished"
    assert last["event"] == "end"
    assert last["data"]["state"] == "succeeded"
    assert outcome.code == ExitCode.OK


def test_watch_without_a_terminal_writes_lines(fake: FakeServer, run: Run) -> None:
    fake.on(SHOW, Reply(sweep("failed", done=6)))
    outcome = run("watch", SWEEP_ID)
    assert "6 of 6 trials, failed" in outcome.out
    assert outcome.code == ExitCode.NEGATIVE


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({"queued": 5, "leased": 1}, "starting a worker group, about 12 s left"),
        ({"queued": 5, "running": 1}, "running, about 12 s left"),
        ({"queued": 4, "running": 1, "failed": 1}, "running, 1 failed, about 12 s left"),
    ],
)
def test_progress_says_what_is_going_on(counts: dict[str, int], says: str) -> None:
    document = sweep("running", trial_counts=counts)
    assert describe(Sweep.model_validate(document)) == says


def test_sweeps_shows_what_went_wrong_with_the_ranks_log(fake: FakeServer, run: Run) -> None:
    error = {
        "code": "out_of_memory",
        "message": "tried to allocate 3 GiB",
        "rank": 1,
        "node": "node-a",
        "log_tail": "line 1\nline 2",
    }
    fake.on(SHOW, Reply(sweep("partial", done=6)))
    failed = Reply(page({"spec": spec(), "state": "failed", "error": {**error}}))
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}/points", failed, Reply(page()))
    outcome = run("sweeps", SWEEP_ID)
    assert "out_of_memory on rank 1 of node-a" in outcome.out
    assert "tried to allocate 3 GiB" in outcome.out
    assert "| line 2" in outcome.out


def test_foreign_text_cannot_drive_the_terminal(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/sweeps", Reply(page(sweep(name="\x1b[2J[bold]evil[/bold]"))))
    outcome = run("sweeps")
    assert r"\x1b[2J[bold]evil[/bold]" in outcome.out
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize("command", ["sweeps", "results", "nodes"])
def test_an_empty_list_says_so(fake: FakeServer, run: Run, command: str) -> None:
    fake.on(f"GET /v1/{command}", Reply(page()))
    outcome = run(command)
    assert outcome.code == ExitCode.OK
    assert outcome.out.startswith("no ")


@pytest.mark.parametrize("command", ["cancel", "retry"])
def test_cancel_and_retry_post_and_tell_the_state(fake: FakeServer, run: Run, command: str) -> None:
    fake.on(f"POST /v1/sweeps/{SWEEP_ID}/{command}", Reply(sweep("cancelled", done=2), status=202))
    outcome = run(command, SWEEP_ID)
    assert outcome.code == ExitCode.OK
    assert f"sweep {SWEEP_ID} cancelled" in outcome.out


def test_an_id_stays_one_part_of_the_path_whatever_was_typed(fake: FakeServer, run: Run) -> None:
    assert run("cancel", "a/b?c").code == ExitCode.REFUSED
    assert (fake.received[0].path, fake.received[0].query) == ("/v1/sweeps/a%2Fb%3Fc/cancel", {})


def test_nodes_are_listed(fake: FakeServer, run: Run) -> None:
    node = {
        "name": "node-a",
        "hardware": {"accelerator": "H200", "num_devices": 8},
        "num_slots": 8,
        "pool": "default",
        "last_seen_at": "2026-01-01T00:00:00Z",
    }
    fake.on("GET /v1/nodes", Reply(page({**node})))
    outcome = run("nodes")
    row = ["node-a", "H200", "8", "8", "default", "2026-01-01", "00:00:00"]
    assert row in [line.split() for line in outcome.out.splitlines()]
