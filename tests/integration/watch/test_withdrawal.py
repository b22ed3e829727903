"""A finding that was told as confirmed, and that later nights do not bear out."""

from email import message_from_string
from json import loads
from pathlib import Path

import pytest

from service.analysis.findings.nightly import Group, NightVerdict
from service.analysis.findings.tracking import NIGHTS_OF_DOUBT
from service.store import deliveries, history
from service.store.clock import db_time
from service.store.deliveries import RETRY_AFTER
from service.store.engine import Sessions
from service.store.finding_book import FindingBook
from service.store.states import Announcement, WebhookKind
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import POLICY, Nights, OfNode
from tests.integration.watch.telling import HOOK, place, sender, told
from tests.unit.analysis.findings.test_tracking import group
from tests.unit.cli.fake_server import FakeServer, Reply
from tests.unit.watch.fake_smtp import taking_mail

CASE = "c1:x"


@pytest.fixture
def nights(timed: Sessions, clock: FakeClock) -> Nights:
    return Nights(timed, clock)


def shown(nights: Nights, *groups: Group) -> None:
    """Measure a night and enter what it and those before it are said to show."""
    nights.measure({"a": OfNode((100.0,))})
    with nights.sessions.writing() as session:
        seen = history.nights(session, POLICY)
        readings = history.readings(session, seen)[nights.hardware.hardware_key]
        key, now = nights.hardware.hardware_key, db_time(session)
        book = FindingBook(session, POLICY, key, seen, readings, now)
        book.enter(NightVerdict(groups=groups, num_series=1))


def until_it_is_withdrawn(nights: Nights) -> None:
    for _ in range(NIGHTS_OF_DOUBT):
        shown(nights)


def test_it_is_taken_back_where_it_was_told(
    nights: Nights, receiver: FakeServer, tmp_path: Path
) -> None:
    with taking_mail() as mails:
        confirmed = (Announcement.CONFIRMED,)
        place(nights.sessions, receiver, events=confirmed)
        place(nights.sessions, None, kind=WebhookKind.EMAIL, events=confirmed, name="mail")
        others = place(nights.sessions, receiver, events=(Announcement.RECOVERED,), name="others")
        shown(nights, group(CASE, night=0))
        later = place(nights.sessions, receiver, events=confirmed, name="later")
        until_it_is_withdrawn(nights)
        assert sender(nights.sessions, tmp_path, smtp_url=mails.url).look() == 4
        assert told(receiver) == ["finding.confirmed", "finding.withdrawn"]
        first, second = (loads(got.body)["data"] for got in receiver.calls(HOOK))
    assert (second["id"], second["dismissal"]) == (first["id"], "withdrawn")
    text = str(message_from_string(mails.mails[1]).get_payload(decode=True))
    assert all(part in text for part in ("taken back", "What was told: c1:x 5.0% slower on a"))
    with nights.sessions.reading() as session:
        for unaware in (others, later):
            assert deliveries.page(session, unaware.id, limit=9).items == ()


def test_it_may_be_confirmed_and_taken_back_again(
    nights: Nights, receiver: FakeServer, tmp_path: Path
) -> None:
    place(nights.sessions, receiver)
    for _ in range(2):
        shown(nights, group(CASE, night=0))
        until_it_is_withdrawn(nights)
    sender(nights.sessions, tmp_path).look()
    assert told(receiver) == ["finding.confirmed", "finding.withdrawn"] * 2


def test_what_becomes_of_a_finding_is_told_in_order_though_the_first_message_has_to_wait(
    nights: Nights, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    webhook = place(nights.sessions, receiver)
    shown(nights, group(CASE, night=0))
    (finding,) = nights.findings()
    sends = sender(nights.sessions, tmp_path)
    receiver.on(HOOK, Reply({}, status=503))
    assert sends.look() == 1
    receiver.on(HOOK, Reply({}))
    with nights.sessions.writing() as session:
        deliveries.announce(session, finding.id, Announcement.RECOVERED, policy=POLICY)
        deliveries.queue_test(session, webhook)
    assert sends.look() == 1
    assert told(receiver) == ["finding.confirmed", "test"], "what is not about it need not wait"
    clock.now += RETRY_AFTER[0]
    assert sends.look() == 2
    assert told(receiver)[2:] == ["finding.confirmed", "finding.recovered"]


def test_a_message_that_was_given_up_keeps_no_later_one_waiting(
    nights: Nights, clock: FakeClock, receiver: FakeServer, tmp_path: Path
) -> None:
    place(nights.sessions, receiver)
    shown(nights, group(CASE, night=0))
    (finding,) = nights.findings()
    sends = sender(nights.sessions, tmp_path)
    receiver.on(HOOK, Reply({}, status=503))
    for pause in RETRY_AFTER:
        sends.look()
        clock.now += pause
    with nights.sessions.writing() as session:
        deliveries.announce(session, finding.id, Announcement.RECOVERED, policy=POLICY)
    assert sends.look() == 2
    assert told(receiver)[-2:] == ["finding.confirmed", "finding.recovered"]
