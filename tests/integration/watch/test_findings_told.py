"""From a finding to the message that tells of it, on both databases."""

import json
from email import message_from_string
from pathlib import Path

import numpy as np
from sqlalchemy import text

from service.store import deliveries
from service.store.deliveries import RETRY_AFTER
from service.store.engine import Sessions
from service.store.states import Announcement, DeliveryState, WebhookKind
from service.watch.judge import Judge
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode
from tests.integration.watch.telling import HOOK, is_signed, place, sender, told
from tests.unit.cli.fake_server import FakeServer
from tests.unit.watch.fake_smtp import taking_mail


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


def test_a_finding_that_cannot_be_read_keeps_no_other_message_waiting(
    timed: Sessions, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    webhook = place(timed, receiver, events=(Announcement.CONFIRMED,))
    story(timed, clock)
    with timed.writing() as session:
        session.execute(text("UPDATE findings SET members = '[{\"of\": 2031}]'"))
        deliveries.queue_test(session, webhook)
    assert sender(timed, tmp_path).look() == 2
    assert told(receiver) == ["test"]
    with timed.reading() as session:
        unsaid, _ = sorted(deliveries.page(session, webhook.id, limit=9).items, key=lambda d: d.id)
    assert unsaid.state is DeliveryState.PENDING
    assert unsaid.error == "the message could not be composed: ValidationError"


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
