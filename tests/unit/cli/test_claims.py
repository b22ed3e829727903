import json

from service.cli.exits import ExitCode
from tests.unit.cli.answers import page
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply

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


def test_claims_as_json_are_passed_on(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/claims", Reply(page(CLAIM)))
    assert json.loads(run("claims", "--json").out)["items"] == [CLAIM]
