"""Commands that send a file which another program wrote, or keep one."""

import json
from pathlib import Path

import pytest

from service.cli.exits import ExitCode
from tests.unit.cli.answers import page
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply, problem

CURVE = {
    "hardware": "p5",
    "op": "all_reduce",
    "dtype": "float",
    "num_ranks": 8,
    "num_nodes": None,
    "rows": [
        {
            "message_bytes": 1048576,
            "out_of_place": {"time_us": 28.56, "algbw_gb_per_s": 36.7, "busbw_gb_per_s": 64.25},
            "in_place": None,
        }
    ],
    "doubts": [{"low_bytes": 1024, "high_bytes": 4096, "reason": "a step"}],
}
IMPORT = {
    "num_taken": 1,
    "num_new_curves": 1,
    "curves": [CURVE],
    "skipped": [{"line": 7, "reason": "broken row"}],
    "warnings": ["the footer does not fit"],
}
TOPOLOGY = {
    "num_gpus": 4,
    "fabric": "nvlink_pairs",
    "tp_degrees": [
        {"tp_degree": 2, "worst_link": "NV4", "passes": "4 NVLinks", "sets": [[0, 1], [2, 3]]}
    ],
    "warnings": ["cut by '...'"],
}


def test_import_sends_the_file_as_it_is_and_names_what_was_left_out(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    fake.on("POST /v1/results/import", Reply(IMPORT))
    path = tmp_path / "run.txt"
    path.write_bytes(b"\xef\xbb\xbf# nccl\r\n")
    outcome = run("import", str(path), "--hardware", "p5", "--num-ranks", "8")
    assert outcome.code == ExitCode.OK
    (sent,) = fake.received
    assert sent.body == path.read_bytes()
    assert sent.headers["Content-Type"] == "text/plain"
    assert sent.query == {"hardware": ["p5"], "num_ranks": ["8"], "source": ["run.txt"]}
    assert "p5: all_reduce of float among 8 ranks: 1 rows" in outcome.out
    assert "line 7 left out: broken row" in outcome.out
    assert "the footer does not fit" in outcome.out
    assert "check the configuration: messages of 1024 to 4096 bytes: a step" in outcome.out


def test_import_sends_json_as_json(fake: FakeServer, run: Run, tmp_path: Path) -> None:
    fake.on("POST /v1/results/import", Reply(IMPORT))
    path = tmp_path / "run.json"
    path.write_text('\n {"version": 3}')
    outcome = run("import", str(path), "--hardware", "p5", "--json")
    assert json.loads(outcome.out) == IMPORT
    assert fake.received[0].headers["Content-Type"] == "application/json"


def test_a_file_that_is_not_there_or_empty_sends_nothing(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "empty").write_text(" \n")
    for name in ("missing", "empty"):
        outcome = run("import", str(tmp_path / name), "--hardware", "p5")
        assert outcome.code == ExitCode.USAGE
        assert name in outcome.err
    assert fake.received == []


def test_curves_are_shown_with_what_is_doubtful_of_them(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/curves", Reply(page(CURVE)))
    outcome = run("curves", "--op", "all_reduce")
    assert fake.received[0].query == {"op": ["all_reduce"]}
    assert "28.6 us" in outcome.out
    assert "64.25" in outcome.out
    assert "a step" in outcome.out


def test_curves_come_in_the_layout_of_nccl_tests_untouched(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/curves", Reply(text="#  size\n", content_type="text/plain"))
    assert run("curves", "--format", "nccl-tests").out == "#  size\n"
    assert fake.received[0].query == {"format": ["nccl-tests"]}
    both = run("curves", "--format", "nccl-tests", "--json")
    assert (both.code, "leave out one" in both.err) == (ExitCode.USAGE, True)


def test_topology_names_the_gpus_of_each_degree(fake: FakeServer, run: Run, tmp_path: Path) -> None:
    fake.on("POST /v1/topology", Reply(TOPOLOGY))
    path = tmp_path / "topo.txt"
    path.write_text("GPU0 GPU1")
    outcome = run("topology", str(path))
    assert "4 NVLinks" in outcome.out
    assert "0,1  2,3" in outcome.out
    assert "cut by '...'" in outcome.out


def test_a_profile_is_kept_as_it_comes(fake: FakeServer, run: Run, tmp_path: Path) -> None:
    fake.on("GET /v1/trials/t/profile", Reply(text="trace", content_type="application/gzip"))
    path = tmp_path / "t.trace.json.gz"
    assert run("profile", "t", "--output", str(path)).out == f"{path}: 5 bytes\n"
    assert path.read_bytes() == b"trace"
    outcome = run("profile", "t", "--output", str(tmp_path / "no" / "where.gz"))
    assert (outcome.code, "cannot be written" in outcome.err) == (ExitCode.USAGE, True)


EXPORTED = '{"created_at":"2026-01-01T00:00:00Z","format":"tpsweep.result.1"}\n'


def test_results_are_written_to_a_file_or_to_stdout(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    fake.on("GET /v1/results/export", Reply(text=EXPORTED, content_type="application/x-ndjson"))
    path = tmp_path / "results.jsonl"
    outcome = run("export", str(path), "--samples", "--tag", "commit=abc", "--sweep", "a")
    assert outcome.code == ExitCode.OK
    assert path.read_text() == EXPORTED
    assert fake.received[0].query == {
        "format": ["jsonl"],
        "include": ["samples"],
        "sweep": ["a"],
        "tag": ["commit=abc"],
    }
    assert list(tmp_path.iterdir()) == [path], "nothing else is left"
    missing = run("export", str(tmp_path / "no" / "where.csv"), "--format", "csv")
    assert (missing.code, "cannot be written" in missing.err) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_what_names_no_file_is_a_usage_error_before_anything_is_asked(
    fake: FakeServer, run: Run, name: str
) -> None:
    outcome = run("export", name)
    assert outcome.code == ExitCode.USAGE
    assert f"{name!r} names no file; name one, or - for standard output" in outcome.err
    assert fake.received == []


@pytest.mark.parametrize("name", ["x" * 300, "a.txt/results.jsonl", "kept"])
def test_a_place_that_cannot_be_written_to_is_a_usage_error(
    fake: FakeServer, run: Run, tmp_path: Path, name: str
) -> None:
    fake.on("GET /v1/results/export", Reply(text=EXPORTED, content_type="application/x-ndjson"))
    (tmp_path / "a.txt").touch()
    (tmp_path / "kept").mkdir()
    outcome = run("export", str(tmp_path / name))
    assert (outcome.code, "cannot be written" in outcome.err) == (ExitCode.USAGE, True)
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "kept"}


def test_a_refused_export_leaves_no_file(fake: FakeServer, run: Run, tmp_path: Path) -> None:
    fake.on("GET /v1/results/export", problem(501, "not_installed", "Not so", "needs pyarrow"))
    outcome = run("export", str(tmp_path / "a.parquet"), "--format", "parquet")
    assert (outcome.code, "needs pyarrow" in outcome.err) == (ExitCode.SERVER_FAILED, True)
    assert list(tmp_path.iterdir()) == []


def test_exported_results_are_sent_as_they_are(fake: FakeServer, run: Run, tmp_path: Path) -> None:
    refused = [{"line": 2, "reason": "stands for something else"}]
    merged = {"num_refused": 1, "refused": refused, "sentence": "1 new, 0 there already"}
    fake.on("POST /v1/results/import", Reply(merged))
    path = tmp_path / "results.jsonl"
    path.write_text(EXPORTED * 2)
    outcome = run("import", str(path))
    assert outcome.code == ExitCode.NEGATIVE
    (sent,) = fake.received
    assert (sent.body.decode(), sent.headers["Content-Type"]) == (
        EXPORTED * 2,
        "application/x-ndjson",
    )
    assert "line 2 left out: stands for something else" in outcome.out
    assert "1 new, 0 there already" in outcome.out


def test_an_export_of_failures_alone_is_sent_as_it_is_too(
    fake: FakeServer, run: Run, tmp_path: Path
) -> None:
    failed = EXPORTED.replace("result", "failure")
    merged = {"num_refused": 0, "refused": [], "sentence": "1 new, 0 there already"}
    fake.on("POST /v1/results/import", Reply(merged))
    path = tmp_path / "failures.jsonl"
    path.write_text(failed)
    assert run("import", str(path)).code == ExitCode.OK
    assert fake.received[0].body.decode() == failed


def test_what_nccl_tests_printed_needs_a_name_for_its_hardware(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text("# nThread 1\n")
    outcome = run("import", str(path))
    assert (outcome.code, "--hardware is needed" in outcome.err) == (ExitCode.USAGE, True)
