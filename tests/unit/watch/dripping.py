"""A host that begins an answer, goes on byte by byte, and never comes to its end."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def dripping(begin: bytes, again: bytes) -> Iterator[int]:
    """Yield its port; it says `begin`, then `again` until it is hung up on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)  # whose deadline is over may never come

        def drip() -> None:
            with suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(begin)
                    while True:
                        connection.sendall(again)
                        time.sleep(0.02)

        thread = threading.Thread(target=drip)
        thread.start()
        yield server.getsockname()[1]
        thread.join()
