"""Hands e-mail in at the server that the settings name."""

import smtplib
import ssl
from urllib.parse import unquote, urlsplit

from service.watch.outcome import DeliveryError

TIMEOUT_S = 5.0
"""Of each word of the conversation, so that all of it ends before another sender begins."""
SUBMISSION, SUBMISSION_TLS = 587, 465


def send(smtp_url: str, mail: str, *, sender: str, to: str) -> None:
    """Send one. DeliveryError where it was not taken.

    A password goes over TLS only.
    """
    parts = urlsplit(smtp_url)
    if not parts.hostname:
        raise DeliveryError("TPSWEEP_SMTP_URL is not set: e-mail cannot be sent")
    try:
        with _connect(parts.scheme, parts.hostname, parts.port) as server:
            if parts.username is not None:
                server.login(unquote(parts.username), unquote(parts.password or ""))
            server.sendmail(sender, [to], mail.encode())
    except smtplib.SMTPResponseException as error:
        code = f"{type(error).__name__} {error.smtp_code}"
        raise DeliveryError(f"{parts.hostname}: {code}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"{parts.hostname}: {type(error).__name__}") from None


def _connect(scheme: str, host: str, port: int | None) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if scheme == "smtps":
        return smtplib.SMTP_SSL(host, port or SUBMISSION_TLS, timeout=TIMEOUT_S, context=context)
    server = smtplib.SMTP(host, port or SUBMISSION, timeout=TIMEOUT_S)
    server.ehlo()
    if server.has_extn("starttls"):
        server.starttls(context=context)
    return server
