"""What people do with the pages, in a real browser; a stand-in measures, but for one flow."""

import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from service.pages.route import PageRoute
from service.pages.routers import ROUTERS
from service.store import tokens
from service.store.engine import Sessions
from service.store.states import Scope
from service.watch.judge import Judge
from tests.browser.conftest import opened
from tests.browser.sites import Site, measure_all, site, submit
from tests.browser.walking import HOSTILE, Walk
from tests.integration.api import measuring
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode
from tests.service_process import running_service

PAGES = [
    route
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, PageRoute) and "GET" in (route.methods or ())
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sites keep their files."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="module")
def open_site(home: Path, sqlite_template: Path) -> Iterator[Site]:
    """On this machine, without tokens."""
    with site(sqlite_template, home / "open") as served:
        yield served


@pytest.fixture(scope="module")
def guarded_site(home: Path, sqlite_template: Path) -> Iterator[Site]:
    """With tokens."""
    with site(sqlite_template, home / "guarded", require_tokens=True) as served:
        yield served


def _fill(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        page.locator(f"[name='{name}']").fill(value)


def test_a_sweep_is_submitted_from_the_form_and_watched_until_it_is_done(
    chromium: Browser, open_site: Site
) -> None:
    with opened(chromium, open_site.address) as page:
        page.goto("/")
        page.get_by_role("link", name="New sweep").click()
        expect(page.locator("#preview")).to_contain_text("Points20")
        _fill(page, name="from the browser", batch="1 16 256 3000", tp_degree="1 2 3")
        expect(page.locator("#preview")).to_contain_text("Cannot be measured")
        _fill(page, tp_degree="1 2")
        page.get_by_role("button", name="Submit the sweep").click()
        progress = page.locator("#progress")
        expect(progress).to_contain_text("0 of 48 trials")
        expect(progress).to_contain_text("live")
        worker = threading.Thread(target=measure_all, args=(open_site.sessions,))
        worker.start()
        expect(progress).to_contain_text("succeeded")
        worker.join()
        expect(progress).to_contain_text("48 of 48 trials")
        expect(page.locator("a .cell")).to_have_count(8)
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        expect(page.locator("figcaption", has_text="compute")).not_to_have_count(0)
        page.get_by_role("link", name="speed-up over tp_degree 1").click()
        expect(page.locator(".cell[class*=diverging]")).to_have_count(8)
        expect(page).to_have_url(re.compile("metric=speed_up"))
        page.locator("select[name=block]").select_option("attention")
        expect(page).to_have_url(re.compile("block=attention"))


def test_progress_goes_on_after_the_stream_was_cut(chromium: Browser, open_site: Site) -> None:
    sweep_id = submit(open_site.sessions, blocks="mlp", tp_degree=1, batch=[1, 2], replicates=1)
    with opened(chromium, open_site.address, may_be_refused=True) as page:
        page.goto(f"/sweeps/{sweep_id}")
        progress = page.locator("#progress")
        expect(progress).to_contain_text("live")
        page.context.set_offline(True)
        measuring.register(open_site.sessions)
        lease = measuring.claim(open_site.sessions)
        assert lease is not None
        measuring.complete(open_site.sessions, lease, 100.0)
        page.context.set_offline(False)
        measure_all(open_site.sessions)
        expect(progress).to_contain_text("succeeded")


def test_break_even_and_its_point_are_read_from_the_page(
    chromium: Browser, open_site: Site
) -> None:
    sweep_id = submit(open_site.sessions, blocks="mlp")
    measure_all(open_site.sessions)
    with opened(chromium, open_site.address) as page:
        page.goto(f"/sweeps/{sweep_id}")
        chart = page.get_by_role("group", name="Break-even at tp_degree 2").get_by_role("img")
        said = chart.get_attribute("aria-label") or ""
        assert "tp_degree 2" in said
        assert said == page.locator("figcaption", has_text="tp_degree 2:").inner_text()
        page.get_by_role("link", name=re.compile("tp_degree 2, batch 256")).click()
        expect(page.locator("h1")).to_contain_text("tp_degree 2, batch 256")
        expect(page.get_by_role("group", name="Collectives", exact=True)).to_contain_text(
            "all_reduce"
        )


def test_two_sweeps_are_compared_from_a_sweeps_page(chromium: Browser, open_site: Site) -> None:
    before = submit(open_site.sessions, blocks="mlp", name="before")
    measure_all(open_site.sessions)
    after = submit(open_site.sessions, blocks="mlp", name="after")
    measure_all(open_site.sessions, slower=1.5)
    with opened(chromium, open_site.address) as page:
        page.goto(f"/sweeps/{after}")
        page.get_by_label("Compare with").select_option(before)
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("#verdict")).to_contain_text("slower")
        page.get_by_role("link", name=re.compile("12 slower")).click()
        expect(page.locator(".effect.slower")).to_have_count(12)


def test_times_are_local_with_utc_on_hover(chromium: Browser, open_site: Site) -> None:
    submit(open_site.sessions, blocks="mlp", tp_degree=1, batch=1, replicates=1)
    with opened(chromium, open_site.address) as page:
        page.goto("/sweeps")
        shown = page.locator("td time").first
        utc = shown.get_attribute("datetime") or ""
        expect(shown).to_have_attribute("title", utc.replace("T", " ").replace("Z", " UTC"))
        minute = (int(utc[14:16]) + 30) % 60  # India is half an hour off every full hour
        expect(shown).to_have_text(re.compile(f":{minute:02}"))


def test_the_theme_is_switched_and_kept(chromium: Browser, open_site: Site) -> None:
    with opened(chromium, open_site.address) as page:
        page.goto("/")
        ground = "getComputedStyle(document.body.parentElement).backgroundColor"
        light = page.evaluate(ground)
        page.get_by_role("button", name="Switch between light and dark").click()
        dark = page.evaluate(ground)
        assert dark != light
        page.goto("/sweeps")
        assert page.evaluate(ground) == dark


def test_a_sweep_is_made_with_the_keyboard_alone(chromium: Browser, open_site: Site) -> None:
    with opened(chromium, open_site.address) as page:
        page.goto("/")
        press = page.keyboard.press
        press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        new = page.get_by_role("link", name="New sweep")
        _tab_to(page, new.evaluate("node => node.getAttribute('href')"))
        press("Enter")
        expect(page.locator("[name=name]")).to_be_focused()
        press("Control+A")
        page.keyboard.type("by keyboard")
        press("Enter")
        expect(page.locator("h1")).to_have_text("by keyboard")
        page.goto("/sweeps")
        press("/")
        expect(page.locator("[name=tag]")).to_be_focused()


def _tab_to(page: Page, href: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href')") == href:
            return
    pytest.fail(f"{href} cannot be reached with Tab")


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


def test_script_in_free_text_never_runs(chromium: Browser, open_site: Site) -> None:
    shape = {"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 4}
    hostile = {"name": HOSTILE, "tags": {HOSTILE: HOSTILE}, "models": {"name": HOSTILE, **shape}}
    _find_a_slow_down(open_site)
    measured = submit(open_site.sessions, **hostile, blocks="mlp", tp_degree=[1, 2])
    measure_all(open_site.sessions)
    failing = submit(open_site.sessions, **hostile, blocks="mlp", tp_degree=[1, 3], batch=1)
    lease = measuring.claim(open_site.sessions)
    assert lease is not None
    measuring.fail(open_site.sessions, lease)
    with opened(chromium, open_site.address, may_be_refused=True) as page:
        walk = Walk(page)
        starts = [route.path for route in PAGES if "{" not in route.path]
        page.goto("/")
        walk.fill_everything(*starts, f"/sweeps/{measured}", f"/sweeps/{failing}")
        walk.see_everything()
    assert walk.came_alive == []
    assert {
        ("/sweeps", "tag"),
        ("/sweeps/new", "config"),
        ("/sweeps/*", "only"),
        ("/schedules", "name"),
        ("/schedules/*/pause", "reason"),
        ("/baselines", "note"),
        ("/tokens", "name"),
        ("/webhooks", "target"),
        ("/findings/*", "reason"),
        ("/compare", "baseline"),
    } <= walk.fields
    assert {"/", "/sweeps/*", "/points/*", "/findings/*", "/schedules", "/tokens"} <= walk.shown


def _find_a_slow_down(served: Site) -> None:
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    nights = Nights(Sessions(served.sessions.engine, clock=clock), clock)
    for number in range(20):
        if number == 13:
            nights.schedule()
        step_us = (106 if number >= 13 else 100) + number % 5 / 5
        nights.measure({HOSTILE: OfNode((step_us,), 50.0)})
    Judge(nights.sessions).look()


@pytest.mark.timeout(180)
def test_a_real_sweep_from_the_form_to_its_results(chromium: Browser, home: Path) -> None:
    real = home / "real"
    real.mkdir()
    with running_service(real) as client, opened(chromium, client.address) as page:
        page.goto("/sweeps/new")
        _fill(page, name="real", batch="1 64", tp_degree="1 2", replicates="1", max_time_s="0.05")
        page.locator("[name='blocks.attention']").uncheck()
        expect(page.locator("#preview")).to_contain_text("Points4")
        page.get_by_role("button", name="Submit the sweep").click()
        expect(page.locator("#progress")).to_contain_text("succeeded", timeout=90_000)
        expect(page.locator("a .cell")).to_have_count(4)
        page.locator("a .cell").first.click()
        expect(page.get_by_role("group", name="Ranks", exact=True)).to_be_visible()
