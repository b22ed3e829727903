import socket
from collections.abc import Iterator

import pytest

from service.cli.client import Client
from service.cli.failures import (
    RefusedError,
    ServerFailedError,
    UnavailableError,
    UnreachableError,
    UsageError,
)
from service.cli.wire.sweeps import Sweep
from tests.unit.cli.answers import SWEEP_ID, page, sweep
from tests.unit.cli.fake_server import FakeServer, Reply, problem, serving


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        yield fake


@pytest.fixture
def pauses() -> list[float]:
    """How long the client paused."""
    return []


@pytest.fixture
def client(server: FakeServer, pauses: list[float]) -> Iterator[Client]:
    token = "tps_a.b"  # noqa: S105 - a made-up one
    with Client(server.url, token=token, pause=pauses.append) as connected:
        yield connected


def test_token_goes_with_every_request(server: FakeServer, client: Client) -> None:
    server.on("GET /v1/sweeps/x", Reply(sweep()))
    client.get("/v1/sweeps/x")
    assert server.received[0].headers["Authorization"] == "Bearer tps_a.b"


def test_fields_of_a_newer_server_are_ignored_and_passed_on(
    server: FakeServer, client: Client
) -> None:
    server.on("GET /v1/sweeps/x", Reply(sweep()))
    answer = client.get("/v1/sweeps/x")
    assert answer.read(Sweep).id == SWEEP_ID
    assert "a_field_of_tomorrow" in str(answer.document)


def test_lists_are_followed_over_pages_up_to_the_limit(server: FakeServer, client: Client) -> None:
    server.on("GET /v1/sweeps", Reply(page(1, 2, next_cursor="c")), Reply(page(3, next_cursor="d")))
    found = client.collect("/v1/sweeps", {"state": "queued", "tag": None}, limit=3)
    assert found.items == [1, 2, 3]
    assert found.next_cursor == "d"
    first, second = server.received
    assert first.query == {"state": ["queued"], "limit": ["3"]}
    assert second.query == {"state": ["queued"], "limit": ["1"], "cursor": ["c"]}


def test_refusal_says_what_field_value_and_title(server: FakeServer, client: Client) -> None:
    errors = [{"pointer": "/tp_degree/0", "detail": "less than or equal to 64; got 100"}]
    refusal = problem(422, "invalid_request", "The request is not valid", "…", errors=[*errors])
    server.on("POST /v1/sweeps", refusal)
    with pytest.raises(RefusedError) as refused:
        client.post("/v1/sweeps", b"{}")
    assert refused.value.lines == (
        "The request is not valid (invalid_request, HTTP 422)",
        "/tp_degree/0: less than or equal to 64; got 100",
    )


def test_a_failing_server_is_told_apart_from_a_refusing_one(
    server: FakeServer, client: Client
) -> None:
    server.on("GET /v1/nodes", problem(503, "unavailable", "The service is not ready", "no db"))
    with pytest.raises(ServerFailedError, match="not ready") as failed:
        client.get("/v1/nodes")
    assert "r-1" in failed.value.lines[-1]


def test_a_refusal_that_is_no_problem_document_is_shown_as_it_is(
    server: FakeServer, client: Client
) -> None:
    server.on("GET /v1/nodes", Reply(text="<h1>proxy says no</h1>", status=403))
    with pytest.raises(RefusedError) as refused:
        client.get("/v1/nodes")
    assert "proxy says no" in refused.value.lines[1]


def test_an_answer_of_another_shape_names_the_field(server: FakeServer, client: Client) -> None:
    server.on("GET /v1/sweeps/x", Reply(sweep(num_points="many")))
    with pytest.raises(ServerFailedError) as failed:
        client.get("/v1/sweeps/x").read(Sweep)
    assert failed.value.lines[1].startswith("/num_points:")


def test_an_answer_that_is_no_json_is_the_servers_failure(
    server: FakeServer, client: Client
) -> None:
    server.on("GET /v1/sweeps/x", Reply(text="<html>"))
    with pytest.raises(ServerFailedError):
        _ = client.get("/v1/sweeps/x").document


def test_nobody_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}") as client, pytest.raises(UnreachableError):
        client.get("/v1/nodes")


def test_lost_answer_is_asked_for_again_only_with_an_idempotency_key(
    server: FakeServer, client: Client
) -> None:
    server.on("POST /v1/sweeps", Reply(drops=True), Reply(sweep()))
    assert client.post("/v1/sweeps", b"{}", key="k").read(Sweep).id == SWEEP_ID
    assert [one.headers["Idempotency-Key"] for one in server.received] == ["k", "k"]
    server.on("POST /v1/sweeps", Reply(drops=True), Reply(sweep()))
    with pytest.raises(UnreachableError):
        client.post("/v1/sweeps", b"{}")


@pytest.mark.parametrize(
    ("told", "paused"), [({}, 0.5), ({"Retry-After": "5"}, 5), ({"Retry-After": "900"}, 10)]
)
def test_a_server_that_is_not_ready_is_asked_again_only_with_an_idempotency_key(
    server: FakeServer, client: Client, pauses: list[float], told: dict[str, str], paused: float
) -> None:
    away = Reply({}, status=503, headers=told)
    server.on("POST /v1/sweeps", away, away, Reply(sweep()))
    assert client.post("/v1/sweeps", b"{}", key="k").read(Sweep).id == SWEEP_ID
    assert pauses == [paused, paused]
    server.on("POST /v1/sweeps", away)
    with pytest.raises(UnavailableError):
        client.post("/v1/sweeps", b"{}", key="k")
    assert len(server.received) == 3 + 3
    with pytest.raises(UnavailableError):
        client.post("/v1/sweeps", b"{}")
    assert len(server.received) == 3 + 3 + 1


def test_a_server_that_fails_is_not_asked_again(server: FakeServer, client: Client) -> None:
    server.on("POST /v1/sweeps", Reply({}, status=500))
    with pytest.raises(ServerFailedError):
        client.post("/v1/sweeps", b"{}", key="k")
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8321", "ftp://host", "http://", ""),
        *("http://127.0.0.1:port", "http://[::1", "http://host:99999999"),
    ],
)
def test_an_address_that_is_none_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="TPSWEEP_URL"):
        Client(url)


@pytest.mark.parametrize("text", ["gesch\u00e4ft", "copied\n", "\x00"])
def test_what_no_header_holds_is_a_usage_error_that_shows_no_token(
    text: str, client: Client, server: FakeServer
) -> None:
    with pytest.raises(UsageError, match="TPSWEEP_TOKEN") as refused:
        Client(server.url, token=text)
    assert text not in str(refused.value)
    with pytest.raises(UsageError, match="idempotency key"):
        client.post("/v1/sweeps", b"{}", key=text)
    assert server.received == []


def test_a_proxy_does_not_stand_before_this_machine(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.on("GET /v1/nodes", Reply(page()))
    with Client(server.url) as client:
        assert client.whole_list("/v1/nodes").items == []
