import json

from service.cli.exits import ExitCode
from tests.unit.cli.answers import page
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_server import FakeServer, Reply

WEBHOOK: dict[str, object] = {
    "id": "0199dddd-0000-7000-8000-000000000001",
    "name": "ops",
    "kind": "webhook",
    "target": "https://ops.example/…",
    "events": ["confirmed"],
    "policy": None,
    "disabled_at": None,
}
DELIVERY: dict[str, object] = {
    "id": "0199eeee-0000-7000-8000-000000000001",
    "finding_id": None,
    "announcement": "test",
    "state": "pending",
    "num_attempts": 2,
    "next_attempt_at": "2026-01-02T01:05:00Z",
    "created_at": "2026-01-02T01:00:00Z",
    "error": "ops.example answered 503",
}


def test_add_shows_the_secret_once(fake: FakeServer, run: Run) -> None:
    made = {**WEBHOOK, "secret": "whsec_x", "warning": "ops.example cannot be resolved"}
    fake.on("POST /v1/webhooks", Reply(made, status=201))
    outcome = run("webhook", "add", "ops", "https://ops.example/a", "--event", "confirmed")
    assert "shown only now: whsec_x" in outcome.out
    assert "for now: ops.example cannot be resolved" in outcome.out
    sent = json.loads(fake.received[0].body)
    assert (sent["target"], sent["events"], sent["kind"]) == (
        "https://ops.example/a",
        ["confirmed"],
        "webhook",
    )


def test_list_deliveries_test_and_delete(fake: FakeServer, run: Run) -> None:
    disabled = {**WEBHOOK, "disabled_at": "2026-01-03T00:00:00Z", "policy": "nightly"}
    fake.on("GET /v1/webhooks", Reply(page(WEBHOOK, disabled)))
    fake.on("GET /v1/webhooks/ops/deliveries", Reply(page(DELIVERY)))
    fake.on("POST /v1/webhooks/ops/test", Reply(DELIVERY, status=202))
    fake.on("DELETE /v1/webhooks/ops", Reply(status=204))
    assert "disabled 2026-01-03" in run("webhook", "list").out
    shown = run("webhook", "deliveries", "ops").out
    assert "again at 2026-01-02 01:05" in shown
    assert "ops.example answered 503" in shown
    assert "tpsweep webhook deliveries ops" in run("webhook", "test", "ops").out
    assert run("webhook", "delete", "ops").code == ExitCode.OK
