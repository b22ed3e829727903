"""Pages of a service with tokens, in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from service.store import tokens
from service.store.states import Scope
from tests.browser.conftest import opened
from tests.browser.sites import Site, measure_all, site, submit


@pytest.fixture(scope="module")
def guarded_site(home: Path, sqlite_template: Path) -> Iterator[Site]:
    """With tokens."""
    with site(sqlite_template, home / "guarded", require_tokens=True) as served:
        yield served


def test_signing_in_and_out(chromium: Browser, guarded_site: Site) -> None:
    with guarded_site.sessions.writing() as session:
        _, secret = tokens.create(session, name="reader", scopes=[Scope.READ])
    with opened(chromium, guarded_site.address, may_be_refused=True) as page:
        page.goto("/sweeps?state=failed")
        expect(page.locator("h1")).to_have_text("Sign in")
        page.get_by_label("Token").fill("tps_0123456789abcdef.wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("not known")
        page.get_by_label("Token").fill(secret)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(re.compile(r"/sweeps\?state=failed$"))
        expect(page.get_by_role("link", name="New sweep")).to_have_count(0)
        page.goto("/sweeps/new")
        expect(page.locator("main")).to_contain_text("this needs the scope submit")
        page.get_by_role("button", name="Sign out").click()
        page.goto("/")
        expect(page.locator("h1")).to_have_text("Sign in")


def test_a_stream_works_in_a_signed_in_session(chromium: Browser, guarded_site: Site) -> None:
    with guarded_site.sessions.writing() as session:
        _, secret = tokens.create(session, name="reader", scopes=[Scope.READ])
    sweep_id = submit(guarded_site.sessions, blocks="mlp", tp_degree=1, batch=1, replicates=1)
    with opened(chromium, guarded_site.address) as page:
        page.goto(f"/sweeps/{sweep_id}")
        page.get_by_label("Token").fill(secret)
        page.keyboard.press("Enter")
        expect(page.locator("#progress")).to_contain_text("live")
        measure_all(guarded_site.sessions)
        expect(page.locator("#progress")).to_contain_text("succeeded")
