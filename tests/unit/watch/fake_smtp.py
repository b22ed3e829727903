"""A mail server that takes what it is given, bare or over TLS."""

import socketserver
import ssl
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class FakeSmtp:
    """What arrived, what it says to a recipient and in the end."""

    url: str = ""
    mails: list[str] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    logins: list[bytes] = field(default_factory=list)
    """Of each: nothing, the name and the password, apart by zeros."""
    refuses: bool = False
    farewell: bytes = b"221 bye\r\n"


class _Handler(socketserver.StreamRequestHandler):
    """One connection."""

    fake: FakeSmtp
    starts_tls: ssl.SSLContext | None = None
    """Offered to who asks."""
    is_tls: ssl.SSLContext | None = None
    """From the first byte."""

    def handle(self) -> None:
        with suppress(ssl.SSLError):  # the client does not trust it
            if self.is_tls is not None:
                self._secure(self.is_tls)
            self.wfile.write(b"220 here\r\n")
            while (line := self.rfile.readline().strip()) and self._answer(line):
                pass

    def finish(self) -> None:
        super().finish()
        self.request.close()  # the server closes the bare one, which TLS has taken over

    def _answer(self, line: bytes) -> bool:
        """Return whether the connection goes on."""
        match line.upper().split()[0]:
            case b"QUIT":
                self.wfile.write(self.fake.farewell)
                return False
            case b"EHLO" if self.starts_tls is not None:
                self.wfile.write(b"250-here\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n")
            case b"EHLO":
                self.wfile.write(b"250-here\r\n250 AUTH PLAIN\r\n")
            case b"STARTTLS" if self.starts_tls is not None:
                self.wfile.write(b"220 go on\r\n")
                self._secure(self.starts_tls)
            case b"AUTH":
                self.fake.logins.append(b64decode(line.split()[-1]))
                self.wfile.write(b"235 welcome\r\n")
            case b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = list(iter(self.rfile.readline, b".\r\n"))
                self.fake.mails.append(b"".join(lines).decode())
                self.wfile.write(b"250 fine\r\n")
            case b"RCPT":
                self.fake.recipients.append(line.decode())
                self.wfile.write(b"550 nobody\r\n" if self.fake.refuses else b"250 fine\r\n")
            case _:
                self.wfile.write(b"250 fine\r\n")
        return True

    def _secure(self, context: ssl.SSLContext) -> None:
        self.request = context.wrap_socket(self.request, server_side=True)
        self.setup()


@contextmanager
def taking_mail(
    *, starts_tls: ssl.SSLContext | None = None, is_tls: ssl.SSLContext | None = None
) -> Iterator[FakeSmtp]:
    fake = FakeSmtp()
    facts = {"fake": fake, "starts_tls": starts_tls, "is_tls": is_tls}
    handler = type("Handler", (_Handler,), facts)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        scheme = "smtp" if is_tls is None else "smtps"
        fake.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
