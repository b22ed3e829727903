import pytest
from starlette.datastructures import Headers

from service.access.doors import Access, access_of, is_loopback, refuse_foreign_pages
from service.errors import ForbiddenError
from service.settings import Settings

LOCAL = {"host": "127.0.0.1:8321"}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_names_of_this_machine_are_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["::", "10.0.0.1", "localhost.evil.example", "", "evil.example", "[::1"]
)
def test_other_names_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_loopback_is_open() -> None:
    assert access_of(Settings(host="127.0.0.1")) is Access.OPEN


def test_loopback_asks_for_tokens_where_told_to() -> None:
    assert access_of(Settings(host="127.0.0.1", require_tokens=True)) is Access.TOKEN


def test_other_addresses_ask_for_tokens() -> None:
    assert access_of(Settings(host="10.0.0.1")) is Access.TOKEN


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "headers",
    [
        LOCAL,
        {"host": "localhost"},
        {"host": "[::1]:8321"},
        {**LOCAL, "origin": "http://127.0.0.1:8321", "sec-fetch-site": "same-origin"},
        {**LOCAL, "sec-fetch-site": "none"},
    ],
)
def test_requests_of_this_machine_pass(method: str, headers: dict[str, str]) -> None:
    refuse_foreign_pages(method, Headers(headers))


@pytest.mark.parametrize(
    "host", ["", "rebound.example:8321", "127.0.0.1.evil.example", "[::1", "10.0.0.1"]
)
def test_a_name_that_was_rebound_to_loopback_is_refused(host: str) -> None:
    with pytest.raises(ForbiddenError, match="Host"):
        refuse_foreign_pages("GET", Headers({"host": host}))


@pytest.mark.parametrize(
    "extra",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8321"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_foreign_page_may_not_change_anything(extra: dict[str, str]) -> None:
    with pytest.raises(ForbiddenError, match="page of"):
        refuse_foreign_pages("POST", Headers({**LOCAL, **extra}))


@pytest.mark.parametrize("name", ["forwarded", "x-forwarded-for", "x-real-ip"])
def test_open_access_does_not_serve_a_proxy(name: str) -> None:
    with pytest.raises(ForbiddenError, match="TPSWEEP_REQUIRE_TOKENS"):
        refuse_foreign_pages("GET", Headers({**LOCAL, name: "1.2.3.4"}))
