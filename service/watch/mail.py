"""Hands e-mail in at the server that the settings name."""

import re
import smtplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from service.watch.outcome import DeliveryError

DEADLINE_S: Final = 10.0
"""For all of it, whatever comes of it byte by byte."""
HANG_UP_EVERY_S: Final = 0.1
"""Past the deadline, since a connection may be there only then."""
SUBMISSION, SUBMISSION_TLS = 587, 465
READY: Final = 220
_LINE_END: Final = re.compile(r"\r\n?|\n")


def send(smtp_url: str, mail: str, *, sender: str, to: str, deadline_s: float = DEADLINE_S) -> None:
    """Send one. DeliveryError where it was not taken.

    A password goes over TLS only.
    """
    parts = _parts(smtp_url)
    context = ssl.create_default_context()
    try:
        with _server(parts, context, deadline_s) as server:
            _begin(server, parts, context)
            # smtplib sends bytes as they are, and would not take text that is not ASCII.
            server.sendmail(sender, [to], _LINE_END.sub("\r\n", mail).encode())
            with suppress(OSError, smtplib.SMTPException):  # it is taken, whatever comes now
                server.quit()
    except TimeoutError:
        raise DeliveryError(f"{parts.hostname} took more than {deadline_s:g} s") from None
    except smtplib.SMTPResponseException as error:
        code = f"{type(error).__name__} {error.smtp_code}"
        raise DeliveryError(f"{parts.hostname}: {code}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"{parts.hostname}: {type(error).__name__}") from None
    except UnicodeError:  # its text would show a part of the password
        raise DeliveryError(
            f"{parts.hostname} takes no user, password or address that is not ASCII"
        ) from None


def _parts(smtp_url: str) -> SplitResult:
    if not smtp_url:
        raise DeliveryError("TPSWEEP_SMTP_URL is not set: e-mail cannot be sent")
    try:
        parts = urlsplit(smtp_url)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in {"smtp", "smtps"}:
        raise DeliveryError("TPSWEEP_SMTP_URL is neither smtp://host:587 nor smtps://host:465")
    return parts


def _begin(server: smtplib.SMTP, parts: SplitResult, context: ssl.SSLContext) -> None:
    """Connect, by TLS where the server has it, and log in."""
    is_tls = isinstance(server, smtplib.SMTP_SSL)
    usual = SUBMISSION_TLS if is_tls else SUBMISSION
    code, said = server.connect(parts.hostname or "", parts.port or usual)
    if code != READY:
        raise smtplib.SMTPConnectError(code, said)
    server.ehlo()
    if not is_tls and server.has_extn("starttls"):
        server.starttls(context=context)
        is_tls = True
    if parts.username is None:
        return
    if not is_tls:
        raise DeliveryError(f"{parts.hostname} offers no TLS: the password was not sent")
    server.login(unquote(parts.username), unquote(parts.password or ""))


@contextmanager
def _server(
    parts: SplitResult, context: ssl.SSLContext, deadline_s: float
) -> Iterator[smtplib.SMTP]:
    """One to connect to, closed in the end. TimeoutError where the deadline cut it short.

    It is hung up on from another thread: smtplib's own timeout begins anew with every byte.
    """
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(timeout=deadline_s, context=context)
    else:
        server = smtplib.SMTP(timeout=deadline_s)
    # What the certificate is held against. Given to the constructor, it would connect at once, and
    # there would be nothing yet to hang up on.
    server._host = parts.hostname or ""  # type: ignore[attr-defined] # noqa: SLF001
    is_over, is_late = Event(), Event()
    hanging_up = Thread(target=_hang_up, args=(server, deadline_s, is_over, is_late), daemon=True)
    hanging_up.start()
    try:
        yield server
    except (OSError, smtplib.SMTPException) as error:
        if is_late.is_set():
            raise TimeoutError from error
        raise
    finally:
        is_over.set()
        hanging_up.join()
        server.close()


def _hang_up(server: smtplib.SMTP, deadline_s: float, is_over: Event, is_late: Event) -> None:
    """At the deadline, unless it is over by then, and of TLS too on the bare connection."""
    pause_s = deadline_s
    while not is_over.wait(pause_s):
        is_late.set()
        pause_s = HANG_UP_EVERY_S
        if (connection := server.sock) is not None:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
