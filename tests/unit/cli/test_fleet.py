import json

from tests.unit.cli.answers import page
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply

FLEET: dict[str, object] = {
    "policy": "nightly",
    "hardware_key": "h1:a",
    "hardware": {"accelerator": "H100"},
    "basis": "peers",
    "nodes": [
        {
            "node": "host05",
            "newest_score": 0.061,
            "newest_link_score": None,
            "noise_grade": "B",
            "stands_out": True,
            "is_flaky": True,
            "missing_since": "2026-01-03T01:00:00Z",
            "scores": [0.0, None, 0.2, -0.2],
        }
    ],
    "sentence": "1 nodes; slower than the others: host05",
}


def test_the_fleet_shows_scores_and_what_is_wrong(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/fleet", Reply(page(FLEET)))
    out = run("fleet", "--policy", "nightly", "--nights", "7").out
    for part in ("+6.1%", "stands out; flaky; missing since 2026-01-03", "▅ █▁", "its peers"):
        assert part in out
    assert fake.received[0].query == {"policy": ["nightly"], "nights": ["7"]}
    assert json.loads(run("fleet", "--json").out)["items"] == [FLEET]


def test_nothing_measured_is_said(fake: FakeServer, run: Run) -> None:
    fake.on("GET /v1/fleet", Reply(page()))
    assert "no schedule has measured anything" in run("fleet").out
