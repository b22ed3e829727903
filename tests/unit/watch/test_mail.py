import pytest

from service.watch import mail
from service.watch.outcome import DeliveryError
from tests.unit.watch.fake_smtp import taking_mail


def test_a_mail_is_handed_in() -> None:
    with taking_mail() as server:
        mail.send(server.url, "Subject: x\n\nhello\n", sender="a@x", to="b@y")
    assert "hello" in server.mails[0]
    assert "<b@y>" in server.recipients[0]


def test_what_is_not_taken_is_told_without_secrets() -> None:
    with taking_mail() as server:
        server.refuses = True
        with pytest.raises(DeliveryError, match="SMTPRecipientsRefused"):
            mail.send(server.url, "x", sender="a@x", to="b@y")
        with pytest.raises(DeliveryError) as refused:
            mail.send(server.url.replace("//", "//me:hunter2@"), "x", sender="a@x", to="b@y")
    assert "hunter2" not in str(refused.value)
    assert server.mails == []


def test_no_server_is_told_with_the_setting() -> None:
    with pytest.raises(DeliveryError, match="TPSWEEP_SMTP_URL"):
        mail.send("", "x", sender="a@x", to="b@y")
    with pytest.raises(DeliveryError, match="ConnectionRefusedError"):
        mail.send("smtp://127.0.0.1:9", "x", sender="a@x", to="b@y")
