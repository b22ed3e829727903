import pytest

from service.watch import mail
from service.watch.outcome import DeliveryError
from tests.unit.watch.dripping import dripping
from tests.unit.watch.fake_smtp import taking_mail

TLS_RECORD = b"\x16\x03\x03\x40\x00"
"""The head of a handshake of 16 KiB."""


def test_a_mail_is_handed_in() -> None:
    with taking_mail() as server:
        mail.send(server.url, "Subject: x\n\nhello\n", sender="a@x", to="b@y")
    assert "hello" in server.mails[0]
    assert "<b@y>" in server.recipients[0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_ends_as_the_protocol_wants(end: str) -> None:
    with taking_mail() as server:
        mail.send(server.url, f"Subject: x{end}{end}häh{end}", sender="a@x", to="b@y")
    assert server.mails == ["Subject: x\r\n\r\nhäh\r\n"]


def test_what_is_not_taken_is_told_without_secrets() -> None:
    with taking_mail() as server:
        server.refuses = True
        with pytest.raises(DeliveryError, match="SMTPRecipientsRefused"):
            mail.send(server.url, "x", sender="a@x", to="b@y")
        with pytest.raises(DeliveryError, match="offers no TLS") as refused:
            mail.send(server.url.replace("//", "//me:hunter2@"), "x", sender="a@x", to="b@y")
    assert "hunter2" not in str(refused.value)
    assert server.mails == []


@pytest.mark.parametrize("url", ["smtp://me:hunter2@", "smtp://h:x", "http://h", "mail:25"])
def test_a_setting_that_names_no_server_is_told_without_its_password(url: str) -> None:
    with pytest.raises(DeliveryError, match="TPSWEEP_SMTP_URL is neither smtp://") as refused:
        mail.send(url, "x", sender="a@x", to="b@y")
    assert "hunter2" not in str(refused.value)


def test_no_server_is_told_with_the_setting() -> None:
    with pytest.raises(DeliveryError, match="TPSWEEP_SMTP_URL"):
        mail.send("", "x", sender="a@x", to="b@y")
    with pytest.raises(DeliveryError, match="ConnectionRefusedError"):
        mail.send("smtp://127.0.0.1:9", "x", sender="a@x", to="b@y")


@pytest.mark.parametrize(
    ("scheme", "begin", "again"),
    [("smtp", b"220-wel", b"c"), ("smtp", b"", b"220-wait\r\n"), ("smtps", TLS_RECORD, b"\x02")],
)
def test_a_server_that_answers_byte_by_byte_is_given_up_at_the_deadline(
    scheme: str, begin: bytes, again: bytes
) -> None:
    with dripping(begin, again) as port:
        url = f"{scheme}://127.0.0.1:{port}"
        with pytest.raises(DeliveryError, match=r"127\.0\.0\.1 took more than 0\.1 s"):
            mail.send(url, "x", sender="a@x", to="b@y", deadline_s=0.1)


def test_a_mail_that_was_taken_is_sent_whatever_the_server_says_to_the_farewell() -> None:
    with taking_mail() as server:
        server.farewell = b"421 no\r\n"
        mail.send(server.url, "x", sender="a@x", to="b@y")
    assert len(server.mails) == 1


@pytest.mark.parametrize(("sender", "to"), [("ä@x", "b@y"), ("a@x", "ä@y")])
def test_what_is_not_ascii_is_told_as_such(sender: str, to: str) -> None:
    with (
        taking_mail() as server,
        pytest.raises(DeliveryError, match="takes no user, password or address that is not ASCII"),
    ):
        mail.send(server.url, "x", sender=sender, to=to)
