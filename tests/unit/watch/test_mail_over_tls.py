"""Who a password is shown to: servers whose certificate is trusted and names them."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from service.watch import mail
from service.watch.outcome import DeliveryError
from tests.unit.watch.fake_smtp import taking_mail

Certify = Callable[[str], ssl.SSLContext]
"""A server's side of TLS, with a certificate for that name."""


@pytest.fixture
def certify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certify:
    """By an authority that this machine trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))

    def certified(name: str) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(name).configure_cert(context)
        return context

    return certified


@pytest.mark.parametrize("how", ["starts_tls", "is_tls"])
def test_a_mail_is_handed_in_with_a_password_over_tls(certify: Certify, how: str) -> None:
    with taking_mail(**{how: certify("127.0.0.1")}) as server:
        url = server.url.replace("//", "//me:p%40ss@")
        mail.send(url, "Subject: x\n\nhello\n", sender="a@x", to="b@y")
    assert server.logins == [b"\0me\0p@ss"]
    assert "hello" in server.mails[0]


@pytest.mark.parametrize("how", ["starts_tls", "is_tls"])
def test_a_server_with_another_ones_certificate_gets_nothing(certify: Certify, how: str) -> None:
    with taking_mail(**{how: certify("mail.example.org")}) as server:
        url = server.url.replace("//", "//me:hunter2@")
        with pytest.raises(DeliveryError, match=r"127\.0\.0\.1: SSLCertVerificationError"):
            mail.send(url, "x", sender="a@x", to="b@y")
    assert (server.logins, server.mails) == ([], [])


@pytest.mark.parametrize("how", ["starts_tls", "is_tls"])
def test_a_server_that_nobody_vouches_for_gets_nothing(
    certify: Certify, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with taking_mail(**{how: certify("127.0.0.1")}) as server:
        monkeypatch.delenv("SSL_CERT_FILE")
        url = server.url.replace("//", "//me:hunter2@")
        with pytest.raises(DeliveryError, match="SSLCertVerificationError"):
            mail.send(url, "x", sender="a@x", to="b@y")
    assert (server.logins, server.mails) == ([], [])


def test_a_password_that_cannot_be_sent_is_told_without_it(certify: Certify) -> None:
    with taking_mail(is_tls=certify("127.0.0.1")) as server:
        url = server.url.replace("//", "//me:p%C3%A4ss@")
        with pytest.raises(DeliveryError, match="password or address that is not ASCII") as refused:
            mail.send(url, "x", sender="a@x", to="b@y")
    assert "ä" not in str(refused.value)
    assert refused.value.__suppress_context__
    assert server.mails == []
