import json

from service.cli.exits import ExitCode
from tests.unit.cli.answers import SWEEP_ID, page, sweep
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply, problem

CLAIM = {
    "number": 6,
    "source": "A",
    "claim": "ZeRO-3 over 8 GPUs, per GPU",
    "article": "about 280 GB",
    "ours": "140 GB",
    "figures": [140.0],
    "verdict": "does not follow",
    "measured": None,
    "command": "tpsweep memory llama-2-70b",
}


def test_each_claim_is_shown_with_both_figures_and_a_verdict(fake: FakeServer, run: Run) -> None:
    measured = {**CLAIM, "number": 16, "measured": "not measured here yet"}
    fake.on("GET /v1/claims", Reply(page(CLAIM, measured)))
    outcome = run("claims")
    assert outcome.code == ExitCode.OK
    assert " 6 ZeRO-3 over 8 GPUs, per GPU (A): does not follow" in outcome.out
    for line in ("article   about 280 GB", "ours      140 GB", "measured  not measured here yet"):
        assert line in outcome.out
    assert outcome.out.count("measured  ") == 1


def test_what_was_not_measured_is_measured_once_and_what_cannot_be_says_why(
    fake: FakeServer, run: Run
) -> None:
    sweep_of = {"models": "gpt2", "tp_degree": [2]}
    several = [
        {**CLAIM, "number": 1, "sweep": sweep_of},
        {**CLAIM, "number": 2, "sweep": sweep_of},
        {**CLAIM, "number": 3, "sweep": {"models": "llama-2-70b"}},
        CLAIM,
    ]
    fake.on("GET /v1/claims", Reply(page(*several)))
    fake.on(
        "POST /v1/sweeps",
        Reply(sweep(), status=202),
        problem(422, "invalid_spec", "The sweep is not valid", "no device is large enough"),
    )
    fake.on(f"GET /v1/sweeps/{SWEEP_ID}", Reply(sweep("succeeded", done=6)))
    outcome = run("claims", "--measure")
    assert outcome.code == ExitCode.OK
    assert "measuring for claim 1, 2" in outcome.out
    assert "no device is large enough" in outcome.out
    asked = [json.loads(one.body) for one in fake.received if one.method == "POST"]
    assert [one["models"] for one in asked] == ["gpt2", "llama-2-70b"]
    assert asked[0]["replicates"] == 2


def test_claims_as_json_are_passed_on(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/claims", Reply(page(CLAIM)))
    assert json.loads(run("claims", "--json").out)["items"] == [CLAIM]
