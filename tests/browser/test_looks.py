"""Every page in both themes and at two widths: nobody is kept out, nothing is cut off."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import httpx2
import numpy as np
import pytest
from playwright.sync_api import Browser

from service.store.engine import Sessions
from tests.browser.conftest import opened, serious_violations
from tests.browser.sites import Site, measure_all, site, submit
from tests.integration.api import measuring
from tests.integration.api.test_calibrations import ASKED as CALIBRATION
from tests.integration.api.test_calibrations import time_us
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import POLICY, Nights, OfNode

NUM_NIGHTS, CHANGED_NIGHT, SPIKE_NIGHT = 40, 26, 12
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "screenshots"
CURVES = ROOT / "tests" / "cases" / "nccl-tests"
LOOKS: list[tuple[Literal["light", "dark"], int]] = [("light", 1280), ("dark", 390)]


@dataclass(frozen=True, slots=True)
class Pages:
    """A site with something on every page, and what to look at."""

    site: Site
    paths: dict[str, str]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Pages]:
    """Measured, failing, running and waiting sweeps, curves, a schedule, a baseline, a token."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    home = tmp_path_factory.mktemp("homes") / "furnished"
    with site(sqlite_template, home) as served, httpx2.Client(base_url=served.address) as http:
        yield Pages(served, _furnish(served, http))


def _furnish(served: Site, http: httpx2.Client) -> dict[str, str]:
    sessions = served.sessions
    before = submit(sessions, name="llama nightly", tags={"commit": "abc123"})
    measure_all(sessions)
    after = submit(sessions, name="llama nightly", tags={"commit": "def456"})
    measure_all(sessions, slower=1.2)
    failing = submit(sessions, name="with failures", tp_degree=[1, 2, 3], blocks="mlp")
    lease = measuring.claim(sessions)
    assert lease is not None
    measuring.fail(sessions, lease)
    measure_all(sessions)
    calibration = http.post("/v1/calibrations", json=CALIBRATION).raise_for_status().json()["id"]
    measuring.calibrate_all(sessions, time_us)
    running = submit(sessions, name="runs now", blocks="mlp")
    for _ in range(20):
        lease = measuring.claim(sessions)
        assert lease is not None
        measuring.complete(sessions, lease, 500.0)
    for name in ("h100-sxm-x8.all_reduce.aws-p5.txt", "a40-x2-nv4.all_reduce.txt"):
        http.post(
            f"/v1/results/import?hardware={name.partition('.')[0]}",
            content=(CURVES / name).read_bytes(),
            headers={"Content-Type": "text/plain"},
        ).raise_for_status()
    spec = http.get(f"/v1/sweeps/{before}").json()["spec"]
    nightly = {"name": "all-of-it", "cron": "0 2 * * *", "zone": "Europe/Berlin", "sweep": spec}
    http.post("/v1/schedules", json=nightly).raise_for_status()
    http.post("/v1/baselines", json={"name": "release", "sweep": before}).raise_for_status()
    http.post("/v1/tokens", json={"name": "alice", "scopes": ["read"]}).raise_for_status()
    changed = _measure_nights(sessions)
    (finding,) = http.get("/v1/findings").json()["items"]
    case = http.get(f"/v1/results?sweep={changed}").json()["items"][0]
    series = f"case={case['spec_key']}&hardware={case['hardware_key']}"
    hook = {"name": "ops", "target": "https://ops.example/hooks/tpsweep", "policy": "nightly"}
    webhook = http.post("/v1/webhooks", json=hook).raise_for_status().json()["id"]
    http.post(f"/v1/webhooks/{webhook}/test").raise_for_status()
    query = f"sweep={after}&tp_degree=2&batch=256&block=mlp"
    point = http.get(f"/v1/results?{query}").json()["items"][0]["id"]
    return {
        "overview": "/",
        "sweeps": "/sweeps",
        "sweep": f"/sweeps/{after}",
        "sweep-speed-up": f"/sweeps/{after}?metric=speed_up",
        "sweep-failing": f"/sweeps/{failing}",
        "sweep-running": f"/sweeps/{running}",
        "calibration": f"/sweeps/{calibration}",
        "point": f"/points/{point}",
        "compare": f"/compare?baseline={before}&candidate={after}",
        "findings": "/findings",
        "finding": f"/findings/{finding['id']}",
        "cases": f"/history?schedule={POLICY}",
        "history": f"/history?{series}&schedule={POLICY}",
        "new-sweep": "/sweeps/new",
        "hardware": "/hardware",
        "recommend": "/recommend?model=llama-2-70b&hardware=H100+SXM&batch=1+64",
        "memory": "/memory?model=llama-2-70b&zero_stage=0+3&data_parallel=8",
        "claims": "/claims",
        "schedules": "/schedules",
        "baselines": "/baselines",
        "webhooks": "/webhooks",
        "webhook": f"/webhooks/{webhook}",
        "tokens": "/tokens",
        "sign-in": "/sign-in",
        "failed": "/sweeps/none",
        "docs": "/docs",
    }


def _measure_nights(sessions: Sessions) -> str:
    """Nights of two nodes that become slower with a driver, judged; return one's sweep."""
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    nights = Nights(Sessions(sessions.engine, clock=clock), clock)
    rng = np.random.default_rng(3)
    for number in range(NUM_NIGHTS):
        if number == NUM_NIGHTS - 1:
            nights.schedule()
        slower, driver = (1.0, "580") if number < CHANGED_NIGHT else (1.06, "590")
        steps_us = 300 * slower * (1 + 0.005 * rng.standard_normal(3))
        steps_us *= 1.3 if number == SPIKE_NIGHT else 1.0
        of = {f"node-{i}": OfNode((float(us),), 50, driver) for i, us in enumerate(steps_us)}
        nights.measure(of)
    nights.judge()
    return nights.sweep_ids[0]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_pages_keep_nobody_out_and_fit_the_window(
    theme: Literal["light", "dark"], width: int, chromium: Browser, furnished: Pages
) -> None:
    wrong: list[str] = []
    address = furnished.site.address
    with opened(chromium, address, theme=theme, width=width, may_be_refused=True) as page:
        for name, path in furnished.paths.items():
            page.goto(path, wait_until="load")
            if name == "new-sweep":
                page.get_by_text("Takes about").wait_for()
            page.screenshot(path=PICTURES / f"{name}-{theme}-{width}.png", full_page=True)
            if name != "docs":
                wrong += [f"{name}: {one}" for one in serious_violations(page)]
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wrong.append(f"{name}: wider than {width} pixels")
    assert wrong == []
