"""From a finding to the message that tells of it, on both databases."""

import base64
import hmac
import io
import json
import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email import message_from_string
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import structlog
from sqlalchemy import Engine

from service.reports.addresses import Resolve
from service.settings import Settings
from service.store import deliveries, webhooks
from service.store.deliveries import RETRY_AFTER, Delivery
from service.store.engine import Sessions
from service.store.states import Announcement, DeliveryState, WebhookKind
from service.store.webhooks import Webhook
from service.telemetry import configure_logging
from service.watch.judge import Judge
from service.watch.sender import Sender
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode
from tests.unit.cli.fake_server import FakeServer, Received, Reply, serving
from tests.unit.watch.fake_smtp import taking_mail
from tests.waiting import wait_until

HOOK = "POST /hooks/s3cr3t"
ALL = (Announcement.SUSPECT, Announcement.CONFIRMED, Announcement.RECOVERED)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))


@pytest.fixture
def timed(engine: Engine, clock: FakeClock) -> Sessions:
    return Sessions(engine, clock=clock)


@pytest.fixture
def receiver() -> Iterator[FakeServer]:
    with serving() as fake:
        fake.on(HOOK, Reply({"read": "never"}))
        yield fake


def lookup(host: str, port: int) -> Sequence[str]:
    del host, port
    return ["127.0.0.1"]


def sender(
    sessions: Sessions, home: Path, *, smtp_url: str = "", names: Resolve = lookup
) -> Sender:
    settings = Settings.model_validate(
        {"home": home, "webhook_networks": "127.0.0.0/8", "smtp_url": smtp_url}
    )
    return Sender(sessions, settings, lookup=names)


def place(
    sessions: Sessions,
    receiver: FakeServer | None,
    *,
    kind: WebhookKind = WebhookKind.WEBHOOK,
    events: tuple[Announcement, ...] = ALL,
    policy: str | None = None,
    name: str = "ops",
    host: str = "hooks.example",
) -> Webhook:
    target = "alice@example.org"
    if receiver is not None:
        target = f"http://{host}:{urlsplit(receiver.url).port}/hooks/s3cr3t"
    with sessions.writing() as session:
        return webhooks.create(
            session,
            name,
            kind=kind,
            target=target,
            events=events,
            policy=policy,
            created_by="alice",
        )


def story(sessions: Sessions, clock: FakeClock) -> None:
    """Quiet nights, then slow ones, then quiet ones again, each judged as it ends."""
    nights = Nights(sessions, clock)
    rng = np.random.default_rng(3)
    for number in range(36):
        if number == 20:
            nights.schedule()
        slower = 1.06 if 20 <= number < 28 else 1.0
        nights.measure({"a": OfNode((100 * slower * (1 + 0.005 * rng.standard_normal()),), 50.0)})
        Judge(sessions).look()


def told(receiver: FakeServer) -> list[str]:
    return [json.loads(got.body)["type"] for got in receiver.calls(HOOK)]


def is_signed(got: Received, secret: str) -> bool:
    """As a receiver checks it, over the bytes that came."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    headers = {name.lower(): value for name, value in got.headers.items()}
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + got.body
    expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return headers["webhook-signature"] == f"v1,{expected}"


def only(sessions: Sessions, webhook: Webhook) -> Delivery:
    with sessions.reading() as session:
        (found,) = deliveries.page(session, webhook.id, limit=9).items
    return found


def test_each_turn_of_a_finding_is_told_once_and_signed(
    timed: Sessions, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    secret = place(timed, receiver).secret
    assert secret is not None
    place(timed, receiver, name="other", policy="another schedule")
    story(timed, clock)
    assert sender(timed, tmp_path).look() == 3
    assert told(receiver) == ["finding.suspect", "finding.confirmed", "finding.recovered"]
    assert all(is_signed(got, secret) for got in receiver.calls(HOOK))
    data = json.loads(receiver.calls(HOOK)[1].body)["data"]
    assert (data["cause"], data["nodes"], data["policy"]) == ("code", ["a"], "nightly")
    assert data["last_good"]["sweep_id"] != data["night"]["sweep_id"]
    assert data["reproduce"].endswith("| tpsweep submit - --wait")
    assert sender(timed, tmp_path).look() == 0


def test_slack_and_mail_say_the_same_in_words(
    timed: Sessions, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    events = (Announcement.CONFIRMED,)
    place(timed, receiver, kind=WebhookKind.SLACK, events=events, name="slack")
    place(timed, None, kind=WebhookKind.EMAIL, events=events, name="mail")
    story(timed, clock)
    with taking_mail() as server:
        assert sender(timed, tmp_path, smtp_url=server.url).look() == 2
    (posted,) = receiver.calls(HOOK)
    assert "webhook-signature" not in {name.lower() for name in posted.headers}
    mail = message_from_string(server.mails[0])
    assert mail["To"] == "alice@example.org"
    texts = [json.loads(posted.body)["text"], str(mail.get_payload(decode=True))]
    for part in ("slower on a", "How sure:", "Last good:", "Measure it again:", "software"):
        assert all(part in text for text in texts)


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


def test_a_disabled_place_is_told_nothing(
    timed: Sessions, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    webhook = place(timed, receiver)
    with timed.writing() as session:
        deliveries.queue_test(session, webhook)
        delivery = deliveries.take(session)
        assert delivery is not None
        for _ in RETRY_AFTER:
            clock.advance(24 * 3600)
            delivery = deliveries.take(session) or delivery
        deliveries.settle(session, delivery, error="gone")
    story(timed, clock)
    assert sender(timed, tmp_path).look() == 0


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
