import io
import json
import sys
from pathlib import Path

import pytest

from service.cli.exits import ExitCode
from tests.unit.cli.conftest import Run

STEP = [50.0] * 15 + [100.0] * 15
GOOD = json.dumps({"id": "step", "values": STEP})


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return tmp_path / "series.jsonl"


def test_each_line_gets_a_verdict_in_order(run: Run, lines: Path) -> None:
    lines.write_text(f'{GOOD}\n\n{{"id": 7, "values": [1, null, 3]}}\n')
    outcome = run("detect", str(lines))
    first, second = map(json.loads, outcome.out.splitlines())
    assert outcome.code == ExitCode.OK
    assert first["id"] == "step"
    assert [point["index"] for point in first["change_points"]] == [15]
    assert first["change_points"][0]["reported_night"] is None
    assert (second["id"], second["outcome"], second["num_missing"]) == (7, "insufficient_data", 1)


def test_mark_that_windows_puts_first_is_no_part_of_the_line(run: Run, lines: Path) -> None:
    lines.write_text(f"{GOOD}\r\n", encoding="utf-8-sig", newline="")
    assert json.loads(run("detect", str(lines)).out)["outcome"] == "changed"


def test_online_names_the_night_of_the_report(run: Run, lines: Path) -> None:
    lines.write_text(GOOD)
    outcome = run("detect", str(lines), "--online", "--json")
    (point,) = json.loads(outcome.out)["change_points"]
    assert (point["index"], point["reported_night"]) == (15, 18)


def test_standard_input_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    assert json.loads(run("detect", "-").out)["outcome"] == "changed"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "a", "values": [1, "x"]}', "/values/1: Input should be a valid number; got 'x'"),
        ('{"id": "a", "values": [true]}', "/values/0: Input should be a valid number; got 'True'"),
        ('{"id": "a", "values": [NaN]}', "/values/0: Input should be a finite number"),
        ('{"id": "a", "values": [1e200]}', "/values/0: Input should be at most 1e+150 in size"),
        ('{"id": "a"}', "/values: Field required"),
        ('{"id": null, "values": []}', "/id: Input should be a valid string; got 'None'"),
        ('{"id": "a", "values": [], "unit": "us"}', "/unit: Extra inputs are not permitted"),
        ("[1, 2]", "the line: Input should be an object"),
        ("not JSON", 'Invalid JSON: expected ident at line 1 column 2; a line is {"id": '),
        ("2026-01-02,55.5", "Invalid JSON: trailing characters at line 1 column 5; a line is {"),
        (b'{"id": "\xff", "values": []}', "Invalid JSON"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_judged(
    run: Run, lines: Path, line: str | bytes, says: str
) -> None:
    bad = line if isinstance(line, bytes) else line.encode()
    lines.write_bytes(b"\n".join((GOOD.encode(), bad, GOOD.encode())))
    outcome = run("detect", str(lines))
    assert outcome.code == ExitCode.USAGE
    assert f"series.jsonl, line 2: {says}" in outcome.err
    assert outcome.err.count("\n") == 1
    assert len(outcome.out.splitlines()) == 2


def test_no_series_at_all_is_a_usage_error(run: Run, lines: Path) -> None:
    lines.write_text("\n")
    outcome = run("detect", str(lines))
    assert outcome.code == ExitCode.USAGE
    assert "holds no series" in outcome.err


@pytest.mark.parametrize("name", ["/nowhere/series.jsonl", "/"])
def test_a_file_that_cannot_be_read_is_a_usage_error(run: Run, name: str) -> None:
    outcome = run("detect", name)
    assert outcome.code == ExitCode.USAGE
    assert f"{name} cannot be read" in outcome.err
