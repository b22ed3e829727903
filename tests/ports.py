"""Ports for services that are started a moment later."""

import itertools
import os
import socket

_FIRST, _NUM = 21_000, 1_000
_NUMBERS = itertools.count(os.getpid() * 37)
"""Processes that know nothing of one another seldom begin at one number."""


def free_port() -> int:
    """A port that nobody listens on now.

    It is one that no outgoing connection is given, and no other test process of this run takes.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = _FIRST + _NUM * worker + next(_NUMBERS) % _NUM
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
