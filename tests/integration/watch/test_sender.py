"""A message is sent until it arrives or is given up, on both databases."""

import io
import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import structlog

from service.settings import Settings
from service.store import deliveries, webhooks
from service.store.deliveries import RETRY_AFTER
from service.store.engine import Sessions
from service.store.states import DeliveryState
from service.telemetry import configure_logging
from tests.integration.store.builders import FakeClock
from tests.integration.watch.telling import HOOK, lookup, only, place, sender
from tests.unit.cli.fake_server import FakeServer, Reply
from tests.waiting import wait_until


def test_what_does_not_arrive_is_sent_again_ever_later_and_then_given_up(
    timed: Sessions, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    webhook = place(timed, receiver)
    with timed.writing() as session:
        deliveries.queue_test(session, webhook)
    receiver.on(HOOK, Reply({"secret": "never kept"}, status=503))
    sends = sender(timed, tmp_path)
    for pause in RETRY_AFTER:
        assert sends.look() == 1
        clock.now += pause - timedelta(seconds=1)
        assert sends.look() == 0
        clock.now += timedelta(seconds=1)
    assert sends.look() == 1
    failed = only(timed, webhook)
    assert (failed.state, failed.error) == (DeliveryState.FAILED, "hooks.example answered 503")
    bodies = {got.body for got in receiver.calls(HOOK)}
    ids = {got.headers["webhook-id"] for got in receiver.calls(HOOK)}
    assert (len(bodies), len(ids), len(receiver.calls(HOOK))) == (1, 1, len(RETRY_AFTER) + 1)

    with timed.writing() as session:
        assert webhooks.find(session, "ops").disabled_at == clock.now
        deliveries.queue_test(session, webhook)
    receiver.on(HOOK, Reply({}))
    assert sends.look() == 1
    with timed.reading() as session:
        assert webhooks.find(session, "ops").disabled_at is None


def test_a_sender_that_dies_loses_no_message_and_a_late_one_changes_nothing(
    timed: Sessions, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    webhook = place(timed, receiver)
    with timed.writing() as session:
        deliveries.queue_test(session, webhook)
        dead = deliveries.take(session)
        assert dead is not None
    assert sender(timed, tmp_path).look() == 0
    clock.advance(61)
    assert sender(timed, tmp_path).look() == 1
    with timed.writing() as session:
        deliveries.settle(session, dead, error="too late")
    assert only(timed, webhook).state is DeliveryState.DELIVERED


def test_a_slow_host_keeps_no_other_waiting(
    timed: Sessions, receiver: FakeServer, tmp_path: Path
) -> None:
    slow = place(timed, receiver, name="slow", host="slow.example")
    other = place(timed, receiver, name="other")

    def slowly(host: str, port: int) -> Sequence[str]:
        if host == "slow.example":
            wait_until(lambda: receiver.received != [], within_s=20)
        return lookup(host, port)

    for webhook in (slow, slow, other):
        with timed.writing() as session:
            deliveries.queue_test(session, webhook)
    assert sender(timed, tmp_path, names=slowly).look() == 3
    hosts = [got.headers["Host"].partition(":")[0] for got in receiver.calls(HOOK)]
    assert hosts == ["hooks.example", "slow.example", "slow.example"]


def test_no_secret_is_logged_or_kept_beside_a_message(
    timed: Sessions, receiver: FakeServer, tmp_path: Path
) -> None:
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers, root.level
    configure_logging(Settings(log_format="json", log_level="debug"), stream=stream)
    try:
        webhook = place(timed, receiver)
        receiver.on(HOOK, Reply({"secret": "x"}, status=500))
        with timed.writing() as session:
            deliveries.queue_test(session, webhook)
        sender(timed, tmp_path).look()
        structlog.get_logger("x").info("shown", webhook=webhook, text=f"it is {webhook.secret}")
    finally:
        root.handlers, root.level = handlers, level
        structlog.reset_defaults()
    kept = f"{only(timed, webhook)} {stream.getvalue()}"
    assert "message_attempted" in kept
    for secret in ("s3cr3t", webhook.secret or "?"):
        assert secret not in kept


def test_what_fails_in_a_way_that_nobody_foresaw_is_a_failed_attempt(
    timed: Sessions, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    webhook = place(timed, receiver)
    with timed.writing() as session:
        deliveries.queue_test(session, webhook)

    def broken(host: str, port: int) -> Sequence[str]:
        raise RuntimeError(host, port)

    with structlog.testing.capture_logs() as logs:
        assert sender(timed, tmp_path, names=broken).look() == 1
    failed = only(timed, webhook)
    assert failed.error == "the message could not be sent: RuntimeError"
    assert failed.next_attempt_at == clock.now + RETRY_AFTER[0]
    (told,) = [one for one in logs if one["event"] == "message_not_sent"]
    assert (told["delivery_id"], told["webhook_id"]) == (failed.id, webhook.id)
    assert told["exc_info"]
