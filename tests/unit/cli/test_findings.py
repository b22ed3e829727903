import json

from service.analysis.findings import states
from service.cli.commands.findings import OPEN
from service.cli.exits import ExitCode
from tests.unit.cli.answers import SWEEP_ID, page
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply

FINDING_ID = "0199cccc-0000-7000-8000-000000000001"
PATH = f"/v1/findings/{FINDING_ID}"
NIGHT = {"sweep_id": SWEEP_ID, "at": "2026-01-02T01:00:00Z"}
FINDING: dict[str, object] = {
    "id": FINDING_ID,
    "policy": "nightly",
    "kind": "level",
    "cause": "node",
    "state": "confirmed",
    "dismissal": None,
    "sentence": "mlp 6.0% slower on host05",
    "nodes": ["host05"],
    "cases": [{"spec_key": "p1:a", "label": "tiny mlp train tp 1 batch 1"}],
    "effect_relative": 0.06,
    "normalised_effect": 0.001,
    "num_series": 1,
    "num_confirmed": 1,
    "smallest_p": 1e-9,
    "night": NIGHT,
    "last_good": NIGHT,
    "reproduce": "echo '{}' | tpsweep submit - --wait",
    "detector": "robust_segmentation",
    "detector_version": 1,
}
DETAIL: dict[str, object] = {
    **FINDING,
    "members": [
        {
            "node": "host05",
            "case": "p1:a",
            "measure": "raw",
            "is_confirmed": True,
            "effect_relative": 0.06,
            "normalised_effect": 0.001,
            "p": 1e-9,
            "num_before": 40,
            "num_after": 5,
        }
    ],
    "differences": [{"field": "driver", "baseline": ["570"], "candidate": ["580"]}],
    "changes": [
        {
            "state": "confirmed",
            "reason": "confirmed by 1 of 1 series",
            "changed_by": "detector",
            "changed_at": "2026-01-06T01:00:00Z",
        }
    ],
}


def test_the_list_shows_open_findings_unless_asked_for_all(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/findings", Reply(page(FINDING)))
    assert "mlp 6.0% slower on host05" in run("findings").out
    assert fake.received[-1].query["state"] == ["suspect", "confirmed", "acknowledged", "fixed"]
    run("findings", "--all", "--cause", "node", "--kind", "flaky", "--policy", "nightly")
    query = fake.received[-1].query
    assert (query["cause"], query["kind"], query["policy"]) == (["node"], ["flaky"], ["nightly"])
    assert "state" not in query
    run("findings", "--state", "recovered")
    assert fake.received[-1].query["state"] == ["recovered"]


def test_show_says_what_how_sure_where_why_and_how_to_see_it_again(
    fake: FakeServer, run: Run
) -> None:
    fake.on(f"GET {PATH}", Reply(DETAIL))
    out = run("finding", "show", FINDING_ID).out
    for part in ("1e-09", "40 / 5", "driver: 570 -> 580", "last good", "tpsweep submit - --wait"):
        assert part in out
    assert json.loads(run("finding", "show", FINDING_ID, "--json").out) == DETAIL


def test_decisions_are_sent_with_their_reason(fake: FakeServer, run: Run) -> None:
    for how in ("acknowledge", "fix", "reopen", "dismiss"):
        fake.on(f"POST {PATH}/{how}", Reply({**DETAIL, "state": how}))
        more = ("--as", "hardware") if how == "dismiss" else ()
        outcome = run("finding", how, FINDING_ID, "--reason", "fan", *more)
        assert (outcome.code, f"is {how}" in outcome.out) == (ExitCode.OK, True)
        assert json.loads(fake.received[-1].body)["reason"] == "fan"
    assert json.loads(fake.received[-1].body)["dismissal"] == "hardware"


def test_policies_say_when_they_cannot_tell(fake: FakeServer, run: Run) -> None:
    policy = {
        "policy": "nightly",
        "detector_version": 1,
        "num_nights": 30,
        "num_series_nights": 900,
        "num_confirmed": 2,
        "num_decided": 0,
        "precision": None,
        "share_slower": 0.5,
    }
    fake.on("GET /v1/policies", Reply(page(policy)))
    assert "cannot tell" in run("policies").out


def test_the_open_findings_are_those_of_the_service() -> None:
    assert OPEN == states.OPEN
