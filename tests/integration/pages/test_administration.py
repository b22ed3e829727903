"""Schedules, baselines, tokens and webhooks, made and ended from their pages."""

import html
import re

import pytest

from service.store import tokens
from service.store.engine import Sessions
from service.store.states import Scope
from tests.integration.pages.conftest import Browser, issue
from tests.integration.pages.test_sweeps import HOSTILE, make

CRON = {"cron": "0 2 * * *", "zone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/schedules", "There is no schedule yet"),
        ("/baselines", "There is no baseline yet"),
        ("/tokens", "There is no token yet"),
        ("/webhooks", "No finding is told anywhere yet"),
        ("/findings", "Nothing is judged yet"),
    ],
)
def test_with_no_data_a_page_says_what_to_do(path: str, said: str, browser: Browser) -> None:
    answer = browser.get(path)
    assert (answer.status_code, said in answer.text) == (200, True)


def _schedule(browser: Browser, sweep_id: str) -> str:
    fields = {"name": "nightly", "sweep": sweep_id, **CRON}
    answer = browser.send("/schedules", seen_at="/schedules", **fields)
    assert answer.headers["location"] == "/schedules"
    found = browser.http.get("/v1/schedules/nightly").json()["id"]
    assert isinstance(found, str)
    return found


def test_a_schedule_is_made_run_paused_resumed_and_deleted(
    browser: Browser, sessions: Sessions
) -> None:
    sweep_id = make(sessions, name="its sweep")
    path = f"/schedules/{_schedule(browser, sweep_id)}"
    started = browser.send(f"{path}/run", seen_at="/schedules").headers["location"]
    assert "schedule=nightly" in browser.get(started).text
    another = {"name": "again", "sweep": started.split("/")[-1], **CRON}
    made = browser.send("/schedules", seen_at="/schedules", **another)
    assert made.status_code == 303, "of one of its nights as well"
    again = browser.http.get("/v1/schedules/again").json()
    assert again["sweep"]["tags"] == {}
    browser.send(f"/schedules/{again['id']}/delete", seen_at="/schedules")
    browser.send(f"{path}/pause", seen_at="/schedules", reason=HOSTILE)
    shown = browser.get("/schedules").text
    assert HOSTILE in html.unescape(shown)
    assert "<script>alert" not in shown
    browser.send(f"{path}/resume", seen_at="/schedules")
    assert "never while it is paused" not in browser.get("/schedules").text
    browser.send(f"{path}/delete", seen_at="/schedules")
    assert "There is no schedule yet" in browser.get("/schedules").text
    assert browser.get(f"/sweeps/{sweep_id}").status_code == 200


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"cron": "daily"}, 422, "five"),
        ({"zone": "Berlin"}, 422, "Europe/Berlin"),
        ({"name": HOSTILE}, 422, "name"),
        ({"sweep": "none"}, 404, "there is no sweep"),
        ({"baseline": "none"}, 404, "none"),
    ],
)
def test_a_schedule_that_cannot_be_comes_back_with_the_reason(
    changes: dict[str, str], status: int, said: str, browser: Browser, sessions: Sessions
) -> None:
    fields = {"name": "nightly", "sweep": make(sessions), **CRON, **changes}
    answer = browser.send("/schedules", seen_at="/schedules", **fields)
    assert answer.status_code == status
    assert said in answer.text.partition('role="alert"')[2]
    assert "<script>alert" not in answer.text


def test_a_baseline_is_pinned_compared_with_and_removed(
    browser: Browser, sessions: Sessions
) -> None:
    sweep_id = make(sessions)
    fields = {"name": "release", "sweep": sweep_id, "note": HOSTILE}
    assert browser.send("/baselines", seen_at="/baselines", **fields).status_code == 303
    shown = browser.get("/baselines").text
    assert HOSTILE in html.unescape(shown)
    assert "<script>alert" not in shown
    assert '<option value="release">' in browser.get("/compare").text
    assert browser.send("/baselines", seen_at="/baselines", **fields).status_code == 409
    browser.send("/baselines/release/remove", seen_at="/baselines")
    assert "There is no baseline yet" in browser.get("/baselines").text


def test_a_token_is_issued_shown_once_and_revoked(guarded: Browser, sessions: Sessions) -> None:
    _, admin = issue(sessions, *Scope)
    guarded.send("/sign-in", token=admin)
    fields = {"name": HOSTILE, "scope.read": "on", "days": "7"}
    shown = guarded.send("/tokens", seen_at="/tokens", **fields).text
    (secret,) = re.findall(r'<code id="secret">(tps_[^<]+)</code>', shown)
    assert "<script>alert" not in shown
    again = guarded.get("/tokens").text
    assert secret.partition(".")[2] not in again
    with sessions.reading() as session:
        token = tokens.authenticate(session, secret)
    assert token is not None
    assert (token.name, token.scopes) == (HOSTILE, frozenset({Scope.READ}))
    guarded.send(f"/tokens/{token.id}/revoke", seen_at="/tokens")
    with sessions.reading() as session:
        assert tokens.authenticate(session, secret) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "", "scope.read": "on"},
        {"name": "x"},
        {"name": "x\x07", "scope.read": "on"},
        {"name": "x", "scope.read": "on", "days": "-1"},
        {"name": "x", "scope.read": "on", "days": "99999"},
    ],
)
def test_a_token_that_cannot_be_is_refused_with_the_reason(
    fields: dict[str, str], browser: Browser, sessions: Sessions
) -> None:
    answer = browser.send("/tokens", seen_at="/tokens", **fields)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    with sessions.reading() as session:
        assert tokens.list_all(session) == []


def test_a_webhook_is_made_tried_and_deleted(browser: Browser) -> None:
    fields = {"name": "ops", "target": "https://ops.example/s3cr3t", "event.confirmed": "on"}
    shown = browser.send("/webhooks", seen_at="/webhooks", **fields).text
    (secret,) = re.findall(r'<code id="secret">(whsec_[^<]+)</code>', shown)
    assert "ops.example cannot be resolved" in shown
    path = f"/webhooks/{browser.http.get('/v1/webhooks/ops').json()['id']}"
    assert browser.send(f"{path}/test", seen_at="/webhooks").headers["location"] == path
    messages = browser.get(path).text
    assert '<span class="badge pending">' in messages
    for page in (messages, browser.get("/webhooks").text):
        assert "https://ops.example/…" in page
        assert secret not in page
        assert "s3cr3t" not in page
    assert browser.send("/webhooks", seen_at="/webhooks", **fields).status_code == 409
    browser.send(f"{path}/delete", seen_at="/webhooks")
    assert browser.http.get("/v1/webhooks").json()["items"] == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": HOSTILE}, "letters and digits"),
        ({"target": "ftp://a.example/"}, "begins with https://"),
        ({"target": "https://127.0.0.1/"}, "not public"),
        ({"kind": "email", "target": "a@b"}, "TPSWEEP_SMTP_URL"),
        ({"event.confirmed": ""}, "at least 1"),
    ],
)
def test_a_webhook_that_cannot_be_comes_back_with_the_reason_beside_its_field(
    changes: dict[str, str], said: str, browser: Browser
) -> None:
    fields = {"name": "ops", "target": "https://ops.example/", "event.confirmed": "on", **changes}
    answer = browser.send("/webhooks", seen_at="/webhooks", **fields)
    assert answer.status_code == 422
    assert said in answer.text.partition('class="error" role="alert"')[2].partition("</small>")[0]
    assert "<script>alert" not in answer.text
    assert browser.http.get("/v1/webhooks").json()["items"] == []


def test_a_webhook_is_shown_to_readers_and_changed_by_administrators(
    guarded: Browser, sessions: Sessions
) -> None:
    _, reader = issue(sessions, Scope.READ)
    guarded.send("/sign-in", token=reader)
    shown = guarded.get("/webhooks")
    assert (shown.status_code, 'action="/webhooks"' in shown.text) == (200, False)
    assert guarded.send("/webhooks", seen_at="/webhooks").status_code == 403
