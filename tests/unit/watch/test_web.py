from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from urllib.parse import urlsplit

import pytest

from service.watch import web
from service.watch.outcome import DeliveryError
from tests.unit.cli.fake_server import FakeServer, Reply, serving
from tests.unit.watch.dripping import dripping

LOOPBACK = [ip_network("127.0.0.0/8")]
HOOK = "POST /hook"


@pytest.fixture
def receiver() -> Iterator[FakeServer]:
    with serving() as fake:
        fake.on(HOOK, Reply({}))
        yield fake


def lookup(host: str, port: int) -> Sequence[str]:
    del host, port
    return ["127.0.0.1"]


def url_of(receiver: FakeServer, path: str = "/hook") -> str:
    return f"http://hooks.example:{urlsplit(receiver.url).port}{path}"


def test_the_bytes_arrive_at_the_checked_address_under_the_name(receiver: FakeServer) -> None:
    url = url_of(receiver)
    web.post(url, b"\x00body", {"X-A": "b"}, networks=LOOPBACK, lookup=lookup)
    (got,) = receiver.calls(HOOK)
    assert (got.body, got.headers["X-A"], got.headers["Host"]) == (
        b"\x00body",
        "b",
        urlsplit(url).netloc,
    )


def test_nothing_is_sent_to_an_address_that_is_not_allowed(receiver: FakeServer) -> None:
    with pytest.raises(DeliveryError, match="not public"):
        web.post(url_of(receiver), b"", {}, networks=[], lookup=lookup)
    assert receiver.received == []


@pytest.mark.parametrize("url", ["http://a.example/", "https://a.example:22/"])
def test_a_public_host_is_spoken_to_over_https_on_its_port_only(url: str) -> None:
    with pytest.raises(DeliveryError, match="only https on port 443"):
        web.post(url, b"", {}, networks=LOOPBACK, lookup=lambda *_: ["93.184.215.14"])


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply({"secret": "x"}, status=500), "answered 500$"),
        (Reply(status=302), "answered 302; redirects are not followed"),
        (Reply(drops=True), "RemoteProtocolError"),
    ],
)
def test_anything_but_success_is_a_failure_told_without_the_answer(
    receiver: FakeServer, reply: Reply, says: str
) -> None:
    receiver.on(HOOK, reply)
    with pytest.raises(DeliveryError, match=says):
        web.post(url_of(receiver), b"", {}, networks=LOOPBACK, lookup=lookup)
    assert len(receiver.received) == 1


def test_no_proxy_of_the_environment_is_used(
    receiver: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    web.post(url_of(receiver), b"", {}, networks=LOOPBACK, lookup=lookup)
    assert len(receiver.calls(HOOK)) == 1


def test_a_host_that_answers_byte_by_byte_is_given_up_at_the_deadline() -> None:
    answer = dripping(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")
    with answer as port, pytest.raises(DeliveryError, match=r"hooks\.example took more than"):
        web.post(
            f"http://hooks.example:{port}/hook",
            b"",
            {},
            networks=LOOPBACK,
            lookup=lookup,
            deadline_s=1,
        )
