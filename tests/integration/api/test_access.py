"""Who may do what, on every route there is."""

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from service.api.app import ROUTERS, create_app
from service.api.route import ApiRoute, routes_of
from service.pages.route import PageRoute
from service.pages.routers import ROUTERS as PAGES
from service.settings import Settings
from service.store import tokens
from service.store.engine import Sessions
from service.store.states import Scope
from tests.integration.api.measuring import BODY

ROUTES = [(method, route) for route in routes_of(ROUTERS) for method in sorted(route.methods or ())]
PUBLIC = {"/livez", "/readyz", "/healthz"}


@pytest.fixture
def guarded(settings: Settings, sessions: Sessions) -> Iterator[TestClient]:
    """A client of a service that listens elsewhere and asks for tokens."""
    elsewhere = settings.model_copy(update={"host": "10.0.0.1"})
    with TestClient(create_app(elsewhere, sessions), base_url="http://sweeps.example") as client:
        yield client


def _token(sessions: Sessions, *scopes: Scope, days: int = 1) -> dict[str, str]:
    with sessions.writing() as session:
        _, secret = tokens.create(
            session,
            name="someone",
            scopes=scopes,
            expires_at=datetime.now(UTC) + timedelta(days=days),
        )
    return {"Authorization": f"Bearer {secret}"}


def _path(route: ApiRoute) -> str:
    return re.sub(r"{\w+}", "x", route.path)


def _name(value: object) -> str:
    return value.name if isinstance(value, ApiRoute) else str(value)


def test_every_path_of_the_application_is_one_of_ours(app: FastAPI) -> None:
    unguarded = [
        route for router in ROUTERS for route in router.routes if not isinstance(route, ApiRoute)
    ]
    unguarded += [
        route for pages in PAGES for route in pages.routes if not isinstance(route, PageRoute)
    ]
    assert unguarded == []
    assert len(app.routes) == len(ROUTERS) + len(PAGES)


def test_a_route_without_a_scope_does_not_build() -> None:
    router = APIRouter(route_class=ApiRoute)
    with pytest.raises(TypeError, match="declares 0 scopes"):
        router.get("/secrets")(lambda: "all of them")


@pytest.mark.parametrize(("method", "route"), ROUTES, ids=_name)
def test_only_health_is_public(method: str, route: ApiRoute) -> None:
    del method
    assert (route.requirement.scope is None) == (route.path in PUBLIC)


def test_without_a_token_every_route_but_health_is_401(guarded: TestClient) -> None:
    for method, route in ROUTES:
        answer = guarded.request(method, _path(route), json=BODY if method == "POST" else None)
        if route.path in PUBLIC:
            assert answer.status_code == 200
        else:
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), route
            assert answer.headers["www-authenticate"].startswith("Bearer")


def test_with_every_scope_but_the_one_it_needs_every_route_is_403(
    guarded: TestClient, sessions: Sessions
) -> None:
    for method, route in ROUTES:
        needed = route.requirement.scope
        if needed is None:
            continue
        others = _token(sessions, *(scope for scope in Scope if scope is not needed))
        answer = guarded.request(method, _path(route), headers=others)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), route
        assert needed in answer.json()["detail"]


def test_with_the_scope_it_needs_no_route_is_refused(
    guarded: TestClient, sessions: Sessions
) -> None:
    for method, route in ROUTES:
        if route.requirement.scope is None:
            continue
        headers = _token(sessions, route.requirement.scope)
        answer = guarded.request(method, _path(route), headers=headers)
        assert answer.status_code not in {401, 403, 500}, (route, answer.text)


def test_who_submitted_is_written_beside_the_sweep(guarded: TestClient, sessions: Sessions) -> None:
    headers = _token(sessions, Scope.SUBMIT)
    assert guarded.post("/v1/sweeps", json=BODY, headers=headers).json()["created_by"] == "someone"


def test_two_tokens_may_use_the_same_idempotency_key(
    guarded: TestClient, sessions: Sessions
) -> None:
    ids = {
        guarded.post(
            "/v1/sweeps",
            json=BODY,
            headers={**_token(sessions, Scope.SUBMIT), "Idempotency-Key": "1"},
        ).json()["id"]
        for _ in range(2)
    }
    assert len(ids) == 2


def test_what_is_no_token_is_401(guarded: TestClient) -> None:
    for header in ("", "Bearer", "Bearer x", "Basic dXNlcg==", "Bearer tps_0.0", "tps_1.2", "é"):
        answer = guarded.get("/v1/sweeps", headers={b"Authorization": header.encode()})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), header


def test_an_expired_token_is_401(guarded: TestClient, sessions: Sessions) -> None:
    assert (
        guarded.get("/v1/sweeps", headers=_token(sessions, Scope.READ, days=-1)).status_code == 401
    )


def test_a_revoked_token_is_401_at_once(guarded: TestClient, sessions: Sessions) -> None:
    admin = _token(sessions, Scope.ADMIN)
    issued = guarded.post(
        "/v1/tokens", json={"name": "nightly", "scopes": ["read"]}, headers=admin
    ).json()
    reader = {"Authorization": f"Bearer {issued['secret']}"}
    assert guarded.get("/v1/sweeps", headers=reader).status_code == 200
    answer = guarded.delete(f"/v1/tokens/{issued['token']['id']}", headers=admin)
    assert (answer.status_code, answer.content) == (204, b"")
    assert guarded.get("/v1/sweeps", headers=reader).status_code == 401


def test_tokens_are_listed_with_their_use_and_without_their_secrets(
    guarded: TestClient, sessions: Sessions
) -> None:
    admin = _token(sessions, Scope.ADMIN)
    answer = guarded.get("/v1/tokens", headers=admin)
    (listed,) = answer.json()["items"]
    assert (listed["name"], listed["scopes"], listed["revoked_at"]) == ("someone", ["admin"], None)
    assert admin["Authorization"].rpartition(".")[2] not in answer.text
    again = guarded.get("/v1/tokens", headers=admin).json()["items"][0]
    assert again["last_used_at"] is not None


def test_a_token_of_the_past_is_not_issued(client: TestClient) -> None:
    body = {"name": "x", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}
    answer = client.post("/v1/tokens", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/expires_at"


def test_a_token_is_checked_on_loopback_too(client: TestClient, sessions: Sessions) -> None:
    assert client.get("/v1/sweeps").status_code == 200
    assert client.get("/v1/sweeps", headers={"Authorization": "Bearer x"}).status_code == 401
    reader = _token(sessions, Scope.READ)
    assert client.post("/v1/sweeps", json=BODY, headers=reader).status_code == 403


def test_open_access_is_closed_to_foreign_pages(client: TestClient) -> None:
    for method, headers in [
        ("GET", {"Host": "rebound.example"}),
        ("POST", {"Origin": "https://evil.example"}),
        ("GET", {"X-Forwarded-For": "1.2.3.4"}),
    ]:
        answer = client.request(method, "/v1/sweeps", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_caller_with_a_token_may_come_through_a_proxy(
    client: TestClient, sessions: Sessions
) -> None:
    headers = {**_token(sessions, Scope.READ), "X-Forwarded-For": "1.2.3.4", "Host": "a.example"}
    assert client.get("/v1/sweeps", headers=headers).status_code == 200


def test_no_secret_is_logged(client: TestClient, sessions: Sessions, log: io.StringIO) -> None:
    headers = _token(sessions, Scope.READ)
    client.get("/v1/sweeps", headers=headers)
    client.get("/v1/sweeps", headers={"Authorization": "Bearer hunter2"})
    written = log.getvalue()
    assert "request_served" in written
    assert "hunter2" not in written
    assert headers["Authorization"].rpartition(".")[2] not in written
