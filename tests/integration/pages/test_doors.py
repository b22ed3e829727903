"""Who sees which page, and whose forms are taken."""

import re

import pytest

from service.access import cookies
from service.pages.route import PageRoute
from service.pages.routers import ROUTERS
from service.store import sweeps, tokens
from service.store.engine import Sessions
from service.store.states import Scope, SweepState
from tests.integration.api.measuring import BODY
from tests.integration.pages.conftest import Browser, issue
from workers.contract.sweep import SweepSpec

ROUTES = [
    (method, route)
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, PageRoute)
    for method in sorted(route.methods or ())
]
PUBLIC = {"/sign-in", "/sign-out", "/static/{name}"}


def _path(route: PageRoute) -> str:
    return re.sub(r"{\w+}", "x", route.path)


def _sign_in(browser: Browser, secret: str, **fields: str) -> str:
    answer = browser.send("/sign-in", token=secret, **fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def _make_sweep(sessions: Sessions) -> str:
    spec = SweepSpec.model_validate(BODY)
    with sessions.writing() as session:
        made = sweeps.create(session, spec, created_by="x", seed=1, expansion=spec.expand())
    return made.id


def test_only_signing_in_and_files_are_public() -> None:
    assert {route.path for _, route in ROUTES if route.needs.scope is None} == PUBLIC


def test_without_a_session_every_page_leads_to_signing_in(guarded: Browser) -> None:
    for method, route in ROUTES:
        if route.path in PUBLIC:
            continue
        answer = guarded.http.request(method, _path(route), follow_redirects=False)
        assert answer.status_code == 303, route.path
        assert answer.headers["location"].startswith("/sign-in"), route.path


def test_a_session_without_the_scope_of_a_page_is_refused(
    guarded: Browser, sessions: Sessions
) -> None:
    for method, route in ROUTES:
        needed = route.needs.scope
        if needed is None:
            continue
        guarded.http.cookies.clear()
        _, secret = issue(sessions, *(scope for scope in Scope if scope is not needed))
        _sign_in(guarded, secret)
        answer = guarded.http.request(method, _path(route), follow_redirects=False)
        assert answer.status_code == 403, route.path
        assert needed in answer.text


def test_signing_in_leads_back_and_the_token_is_not_kept_in_the_browser(
    guarded: Browser, sessions: Sessions
) -> None:
    _, secret = issue(sessions, Scope.READ)
    asked = guarded.get("/sweeps?state=failed").headers["location"]
    assert asked == "/sign-in?after=%2Fsweeps%3Fstate%3Dfailed"
    assert "/sweeps?state=failed" in guarded.get(asked).text
    assert _sign_in(guarded, secret, after="/sweeps?state=failed") == "/sweeps?state=failed"
    assert guarded.get("/sweeps").status_code == 200
    assert secret.partition(".")[2] not in str(guarded.http.cookies)


@pytest.mark.parametrize("after", ["//evil.example", "/\\evil.example", "https://evil.example"])
def test_signing_in_never_leads_elsewhere(after: str, guarded: Browser, sessions: Sessions) -> None:
    _, secret = issue(sessions, Scope.READ)
    assert _sign_in(guarded, secret, after=after) == "/"


def test_a_wrong_token_is_told_so(guarded: Browser) -> None:
    answer = guarded.send("/sign-in", token="tps_0123456789abcdef.nothing")  # noqa: S106
    assert answer.status_code == 401
    assert "not known, has expired or was revoked" in answer.text


def test_a_session_ends_with_its_token(guarded: Browser, sessions: Sessions) -> None:
    token_id, secret = issue(sessions, Scope.READ)
    _sign_in(guarded, secret)
    assert guarded.get("/").status_code == 200
    with sessions.writing() as session:
        tokens.revoke(session, token_id)
    assert guarded.get("/").status_code == 303
    assert guarded.get("/v1/sweeps").status_code == 401


def test_signing_out_ends_it(guarded: Browser, sessions: Sessions) -> None:
    _, secret = issue(sessions, Scope.READ)
    _sign_in(guarded, secret)
    assert guarded.send("/sign-out", seen_at="/").headers["location"] == "/sign-in"
    assert guarded.get("/").status_code == 303


def test_the_cookie_is_kept_from_scripts_and_other_sites(guarded: Browser) -> None:
    given = guarded.get("/sign-in").headers["set-cookie"].lower()
    assert given.startswith(cookies.NAME)
    assert {"httponly", "samesite=lax", "path=/"} <= set(given.split("; "))
    assert "secure" not in given
    guarded.http.cookies.clear()
    https = guarded.get("/sign-in", **{"X-Forwarded-Proto": "https"}).headers["set-cookie"]
    assert "secure" in https.lower().split("; ")


def test_the_api_lets_a_session_read_and_never_write(guarded: Browser, sessions: Sessions) -> None:
    _, secret = issue(sessions, *Scope)
    _sign_in(guarded, secret)
    assert guarded.get("/v1/sweeps").status_code == 200
    assert guarded.http.post("/v1/sweeps", json=BODY).status_code == 401


@pytest.mark.parametrize("method", ["browser", "guarded"])
def test_a_form_that_is_not_of_this_session_changes_nothing(
    method: str, request: pytest.FixtureRequest, sessions: Sessions
) -> None:
    visitor: Browser = request.getfixturevalue(method)
    if method == "guarded":
        _, secret = issue(sessions, *Scope)
        _sign_in(visitor, secret)
    sweep_id = _make_sweep(sessions)
    path = f"/sweeps/{sweep_id}/cancel"
    stolen = "0" * 64
    for fields in ({"a": ""}, {"form_token": ""}, {"form_token": stolen}, {"form_token": "é"}):
        assert visitor.send_raw(path, **fields).status_code == 403
    foreign = visitor.http.post(path, data={}, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    as_json = visitor.http.post(path, json={"form_token": stolen})
    assert as_json.status_code == 415
    with sessions.reading() as session:
        assert sweeps.find(session, sweep_id).state is SweepState.QUEUED
    assert visitor.send(path, seen_at=f"/sweeps/{sweep_id}").status_code == 303
    with sessions.reading() as session:
        assert sweeps.find(session, sweep_id).state is SweepState.CANCELLED


def test_a_form_is_bounded(browser: Browser) -> None:
    answer = browser.send("/sign-in", token="x" * (1 << 20))
    assert answer.status_code == 413
    many = {f"field{index}": "" for index in range(300)}
    assert browser.send("/sign-in", **many).status_code == 422
    assert browser.send("/sign-in", token="tps_\x00").status_code == 422  # noqa: S106


def test_pages_run_no_script_but_ours(browser: Browser) -> None:
    for path in ("/", "/sign-in", "/sweeps/none", "/static/pages.js"):
        policy = browser.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


def test_forms_come_with_the_origin_of_their_page(browser: Browser) -> None:
    """A page without any referrer would have its own forms sent with `Origin: null`."""
    assert browser.get("/").headers["referrer-policy"] == "same-origin"


def test_what_is_wrong_is_said_on_a_page(browser: Browser) -> None:
    for path, status, said in [
        ("/sweeps/none", 404, "there is no sweep"),
        ("/sweeps?state=odd", 422, "there is no state"),
        ("/sweeps?tag=odd", 422, "key=value"),
        ("/sweeps?colour=red", 422, "colour"),
        ("/static/..%2fvisitor.py", 404, ""),
        ("/static/VERSIONS.tsv", 404, "there is no file"),
    ]:
        answer = browser.get(path)
        assert (answer.status_code, said in answer.text) == (status, True), path
