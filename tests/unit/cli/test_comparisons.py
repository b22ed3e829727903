"""Commands that hold points against one another."""

import pytest

from service.api.answers import answers
from service.cli.exits import ExitCode
from tests.unit.cli.answers import SWEEP_ID, page, spec
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply


def compared(verdict: str) -> Reply:
    ratio: dict[str, object] = {
        "ratio": 1.2,
        "ci_low": 1.1,
        "ci_high": 1.3,
        "p": 0.01,
        "verdict": verdict,
    }
    sides: dict[str, object] = {
        "baseline": {"step_time_us": 100},
        "candidate": {"step_time_us": 120},
    }
    point: dict[str, object] = {**ratio, **sides, "spec": spec(), "quality": ["busy_host"]}
    return Reply(
        {
            "overall": ratio,
            "points": [point],
            "unmatched_baseline": [{"spec": spec(batch=8)}],
            "unmatched_candidate": [],
            "differences": [{"field": "torch", "baseline": ["2.12"], "candidate": ["2.13"]}],
            "sentence": "20 % slower",
        }
    )


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        ("slower", ExitCode.NEGATIVE),
        ("faster", ExitCode.OK),
        ("same", ExitCode.OK),
        ("inconclusive", ExitCode.OK),
    ],
)
def test_compare_fails_only_where_the_candidate_is_slower(
    fake: FakeServer, run: Run, verdict: str, code: ExitCode
) -> None:
    fake.on("GET /v1/compare", compared(verdict))
    outcome = run("compare", "a", "b")
    assert outcome.code == code
    assert fake.received[0].query == {"baseline": ["a"], "candidate": ["b"]}
    assert "1.200 [1.100, 1.300]" in outcome.out
    assert "only in the baseline: 1 points" in outcome.out
    assert "torch: 2.12 -> 2.13" in outcome.out


def test_pairs_show_each_part_and_what_could_have_been_found(fake: FakeServer, run: Run) -> None:
    part: dict[str, object] = {
        "name": "compute",
        "ratio": 1.1,
        "ci_low": 1.08,
        "ci_high": 1.12,
        "detectable": 0.034,
        "verdict": "slower",
    }
    pair: dict[str, object] = {
        "first": {"spec": spec(tp_degree=2), "value": "float32"},
        "second": {"spec": spec(tp_degree=2), "value": "bfloat16"},
        "parts": [part],
        "sentence": "slower: compute",
    }
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}/pairs", Reply({"pairs": [pair]}))
    outcome = run("pairs", SWEEP_ID, "--tolerance", "0.01")
    assert outcome.code == ExitCode.OK
    assert fake.received[0].query == {"tolerance": ["0.01"]}
    for shown in ("float32 and bfloat16", "1.100 [1.080, 1.120]", "3.4%", "slower: compute"):
        assert shown in outcome.out


def test_groups_show_both_intervals_and_whether_the_narrow_one_is_right(
    fake: FakeServer, run: Run
) -> None:
    measured: dict[str, object] = {"median": 100, "ci_low": 90, "ci_high": 110}
    point: dict[str, object] = {
        "spec": spec(tp_degree=2),
        "fresh": measured,
        "regrouped": {"median": 120, "ci_low": 119, "ci_high": 121},
        "width_ratio": 0.1,
        "holds_fresh_median": False,
    }
    fake.on("GET /v1/groups", Reply({"points": [point], "sentence": "0 of 1 points"}))
    out = run("groups", "a", "b").out
    assert fake.received[0].query == {"fresh": ["a"], "regrouped": ["b"]}
    for shown in ("100 [90.0, 110] us", "120 [119, 121] us", "0.10x", "no", "0 of 1 points"):
        assert shown in out


def test_a_sweep_without_pairs_says_so(fake: FakeServer, run: Run) -> None:
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}/pairs", Reply({"pairs": []}))
    assert "no pair of points" in run("pairs", SWEEP_ID).out


def test_breakeven_says_each_series_in_a_sentence(fake: FakeServer, run: Run) -> None:
    """Whose doubts stand at its end already."""
    sentence = "mlp: from batch 12 (x)"
    fake.on("GET /v1/breakeven", Reply(page({"sentence": sentence, "quality": ["x"]})))
    assert run("breakeven", SWEEP_ID).out == f"{sentence}\n"


def test_arrangements_are_shown_with_arithmetic_and_measurement(fake: FakeServer, run: Run) -> None:
    body = answers()["compare_arrangements"].model_dump(mode="json")
    fake.on("GET /v1/arrangements", Reply(body))
    out = run("arrangements", SWEEP_ID).out
    assert out.index("column_row") < out.index("sequence_parallel")
    assert "sequence_parallel moves 1.25x the bytes" in out
    fake.on("GET /v1/arrangements", Reply(page()))
    assert "no block has two arrangements" in run("arrangements", SWEEP_ID).out


def test_breakeven_of_too_little_says_so(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/breakeven", Reply(page()))
    assert "no series has two batches" in run("breakeven", SWEEP_ID).out


@pytest.mark.parametrize(
    ("is_kept", "is_one_sided", "code"),
    [
        (True, False, ExitCode.OK),
        (None, None, ExitCode.OK),
        (False, False, ExitCode.NEGATIVE),
        (True, True, ExitCode.NEGATIVE),
    ],
)
def test_the_self_check_fails_where_its_promise_is_broken(
    fake: FakeServer, run: Run, is_kept: object, is_one_sided: object, code: ExitCode
) -> None:
    night = {"sweep_id": "s1", "created_at": "2026-01-02T03:00:00Z", "largest_change": 0.012}
    found = {"is_kept": is_kept, "is_one_sided": is_one_sided, "nights": [night], "sentence": "so"}
    fake.on("GET /v1/self-check", Reply(found))
    outcome = run("self-check", "--schedule", "nightly")
    assert outcome.code == code
    assert fake.received[0].query == {"schedule": ["nightly"]}
    for shown in ("2026-01-02 03:00", "s1", "1.2%", "so"):
        assert shown in outcome.out
