"""A mail server that takes what it is given."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class FakeSmtp:
    """What arrived, what it says to a recipient and in the end."""

    url: str = ""
    mails: list[str] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    refuses: bool = False
    farewell: bytes = b"221 bye\r\n"


@contextmanager
def taking_mail() -> Iterator[FakeSmtp]:
    fake = FakeSmtp()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            for line in self.rfile:
                word = line.strip().upper()
                if word == b"QUIT":
                    self.wfile.write(fake.farewell)
                    return
                if word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = list(iter(self.rfile.readline, b".\r\n"))
                    fake.mails.append(b"".join(lines).decode())
                if word.startswith(b"RCPT"):
                    fake.recipients.append(line.decode().strip())
                    if fake.refuses:
                        self.wfile.write(b"550 nobody\r\n")
                        continue
                self.wfile.write(b"250 fine\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        fake.url = f"smtp://127.0.0.1:{server.server_address[1]}"
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
