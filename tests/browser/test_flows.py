"""What people do with the pages, in a real browser; a stand-in measures, but for one flow."""

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.browser.sites import Site, measure_all, submit
from tests.integration.api import measuring
from tests.service_process import running_service


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


def test_an_open_overview_notices_what_begins_and_what_is_over(
    chromium: Browser, open_site: Site
) -> None:
    measure_all(open_site.sessions)
    with opened(chromium, open_site.address) as page:
        page.goto("/")
        active = page.locator("#active")
        expect(active).to_contain_text("Nothing runs or waits")
        submit(open_site.sessions, blocks="mlp", tp_degree=1, batch=[1, 2], replicates=1)
        expect(active).to_contain_text("0 of 2 trials", timeout=15_000)
        measure_all(open_site.sessions)
        expect(active).to_contain_text("Nothing runs or waits", timeout=15_000)


def test_what_is_copied_is_selected_where_the_browser_does_not_copy(
    chromium: Browser, open_site: Site
) -> None:
    sweep_id = submit(open_site.sessions, blocks="mlp", tp_degree=1, batch=[1], replicates=1)
    measure_all(open_site.sessions)
    with opened(chromium, open_site.address) as page:
        page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.goto(f"/sweeps/{sweep_id}")
        page.get_by_text("The request that makes this sweep again").click()
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Selected: press Ctrl+C")).to_be_visible()
        assert "curl -X POST" in page.evaluate("getSelection().toString()")


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
