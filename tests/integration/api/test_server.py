"""`python -m service.api` as an operator starts and stops it."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

import httpx2
import pytest

from service.store import tokens
from service.store.engine import Sessions, create_engine
from service.store.states import Scope
from tests.environment import without_settings
from tests.integration.api.measuring import BODY
from tests.integration.api.serving import read_events

PATIENCE_S = 40
NUM_STREAMS = 200


def _environment(**settings: str) -> dict[str, str]:
    inherited = without_settings()
    return inherited | {f"TPSWEEP_{name.upper()}": value for name, value in settings.items()}


def _start(log: Path, **settings: str) -> subprocess.Popen[str]:
    with log.open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "service.api"],
            env=_environment(**{"port": "0"} | settings),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )


def _first_line(process: subprocess.Popen[str]) -> str:
    lines: SimpleQueue[str] = SimpleQueue()
    assert process.stdout is not None
    reader = Thread(target=lambda stream: lines.put(stream.readline()), args=[process.stdout])
    reader.start()
    try:
        return lines.get(timeout=PATIENCE_S)
    except Empty:
        process.kill()
        raise
    finally:
        reader.join()


@contextmanager
def _running(log: Path, **settings: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its greeting; killed at the end if it still runs."""
    with _start(log, **settings) as process:
        try:
            yield process, _first_line(process)
        finally:
            process.kill()


def _address(greeting: str) -> str:
    found = re.search(r"http://[^ ]+", greeting)
    assert found, greeting
    return found[0]


def test_it_says_what_it_serves_and_stops_cleanly_with_a_stream_open(
    database: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with _running(log, database_url=database, home=str(tmp_path)) as (process, greeting):
        assert "access open to this machine" in greeting
        assert "/docs" in greeting
        address = _address(greeting)
        assert httpx2.get(f"{address}/readyz", timeout=PATIENCE_S).status_code == 200
        sweep_id = httpx2.post(f"{address}/v1/sweeps", json=BODY, timeout=PATIENCE_S).json()["id"]
        with httpx2.stream("GET", f"{address}/v1/sweeps/{sweep_id}/events") as answer:
            coming = read_events(answer)
            next(coming)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert list(coming) == []
        assert process.wait(PATIENCE_S) in {0, -signal.SIGTERM}
        assert time.monotonic() - began < 5
    written = log.read_text()
    assert "Traceback" not in written
    assert "sweep" in written


def test_it_does_not_start_on_a_database_that_is_not_migrated(tmp_path: Path) -> None:
    with _start(tmp_path / "log", home=str(tmp_path)) as process:
        assert process.wait(PATIENCE_S) == 78
    assert "tpsweep db upgrade" in (tmp_path / "log").read_text()


def test_elsewhere_it_starts_only_with_a_token_and_asks_for_it(
    sqlite_url: str, tmp_path: Path
) -> None:
    given = {"database_url": sqlite_url, "home": str(tmp_path), "host": "0.0.0.0"}  # noqa: S104 - meant
    with _start(tmp_path / "log", **given) as process:
        assert process.wait(PATIENCE_S) == 78
    assert "tpsweep token create" in (tmp_path / "log").read_text()
    secret = _token(sqlite_url)
    with _running(tmp_path / "log", **given) as (_, greeting):
        assert "access by token" in greeting
        url = _address(greeting).replace("0.0.0.0", "127.0.0.1") + "/v1/sweeps"  # noqa: S104
        assert httpx2.get(url, timeout=PATIENCE_S).status_code == 401
        headers = {"Authorization": f"Bearer {secret}"}
        assert httpx2.get(url, headers=headers, timeout=PATIENCE_S).status_code == 200
    assert secret not in (tmp_path / "log").read_text()


def test_answers_do_not_wait_for_acknowledgements(sqlite_url: str, tmp_path: Path) -> None:
    """A client that keeps its connection would wait 40 ms for each, however quick the answer."""
    given = {"database_url": sqlite_url, "home": str(tmp_path)}
    with _running(tmp_path / "log", **given) as (_, greeting):
        took: list[float] = []
        with httpx2.Client(base_url=_address(greeting), timeout=PATIENCE_S) as client:
            for _ in range(30):
                began = time.monotonic()
                client.get("/livez")
                took.append(time.monotonic() - began)
    assert min(took) < 0.03


def test_a_port_that_is_taken_is_said_in_one_line(sqlite_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        given = {"database_url": sqlite_url, "home": str(tmp_path), "port": port}
        with _start(tmp_path / "log", **given) as process:
            assert process.wait(PATIENCE_S) == 78
    assert f"127.0.0.1:{port}: Address already in use" in (tmp_path / "log").read_text()


def test_a_password_is_not_in_the_greeting(tmp_path: Path) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/none"
    with _start(tmp_path / "log", database_url=url, home=str(tmp_path)) as process:
        assert process.wait(PATIENCE_S) == 78
    assert "me:***@127.0.0.1" in (tmp_path / "log").read_text()
    assert "hunter2" not in (tmp_path / "log").read_text()


@pytest.mark.slow
def test_two_hundred_streams_keep_nobody_waiting(sqlite_url: str, tmp_path: Path) -> None:
    given = {"database_url": sqlite_url, "home": str(tmp_path)}
    with ExitStack() as stack:
        _, greeting = stack.enter_context(_running(tmp_path / "log", **given))
        client = stack.enter_context(httpx2.Client(base_url=_address(greeting), timeout=PATIENCE_S))
        sweeps = [client.post("/v1/sweeps", json=BODY).json()["id"] for _ in range(20)]
        streams = [
            stack.enter_context(_open_stream(client.base_url.port or 0, sweeps[n % len(sweeps)]))
            for n in range(NUM_STREAMS)
        ]
        for stream in streams:
            _read_until(stream, b"event: sweep_created")
        took: list[float] = []
        for sweep_id in sweeps:
            for path in (f"/v1/sweeps/{sweep_id}", "/v1/results", "/readyz"):
                began = time.monotonic()
                assert client.get(path).status_code == 200
                took.append(time.monotonic() - began)
        assert sorted(took)[len(took) // 2] < 0.5
        assert max(took) < 5
        for sweep_id in sweeps:
            assert client.post(f"/v1/sweeps/{sweep_id}/cancel").status_code == 202
        for stream in streams:
            _read_until(stream, b"event: sweep_finished")


@contextmanager
def _open_stream(port: int, sweep_id: str) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as stream:
        request = f"GET /v1/sweeps/{sweep_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        stream.sendall(request.encode())
        yield stream


def _read_until(stream: socket.socket, wanted: bytes) -> None:
    seen = b""
    while wanted not in seen:
        chunk = stream.recv(1 << 16)
        assert chunk, seen
        seen += chunk


def _token(url: str) -> str:

    engine = create_engine(url)
    with Sessions(engine).writing() as session:
        _, secret = tokens.create(session, name="reader", scopes=[Scope.READ])
    engine.dispose()
    return secret
