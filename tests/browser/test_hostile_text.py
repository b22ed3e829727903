"""Script in every field of every form, in a real browser."""

from datetime import UTC, datetime

from playwright.sync_api import Browser

from service.pages.route import PageRoute
from service.pages.routers import ROUTERS
from service.store.engine import Sessions
from service.watch.judge import Judge
from tests.browser.conftest import opened
from tests.browser.sites import Site, measure_all, submit
from tests.browser.walking import HOSTILE, Walk
from tests.integration.api import measuring
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode

PAGES = [
    route
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, PageRoute) and "GET" in (route.methods or ())
]


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
