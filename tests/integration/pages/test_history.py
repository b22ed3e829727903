"""A case over its nights, as HTML: what is drawn, and where a change leads."""

import html
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from service.store.engine import Sessions
from tests.integration.pages.conftest import Browser
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import POLICY, Nights, OfNode

CHANGED = 14
NUM_NIGHTS = 24


@pytest.fixture
def nights(browser: Browser, sessions: Sessions) -> Nights:
    """Two nodes that get slower by 6 % with a driver; one of them then misses a night."""
    del browser
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    found = Nights(Sessions(sessions.engine, clock=clock), clock)
    found.schedule()
    rng = np.random.default_rng(3)
    for number in range(NUM_NIGHTS):
        slower, driver = (1.0, "580") if number < CHANGED else (1.06, "590")
        steps_us = [100 * slower * (1 + 0.003 * rng.standard_normal()) for _ in range(2)]
        of = {name: OfNode((us,), 50.0, driver) for name, us in zip("ab", steps_us, strict=True)}
        if number == CHANGED + 3:
            del of["b"]
        found.measure(of)
    return found


def case_of(browser: Browser, sweep_id: str) -> dict[str, str]:
    (result,) = browser.http.get(f"/v1/results?sweep={sweep_id}").json()["items"]
    return {"case": result["spec_key"], "hardware": result["hardware_key"], "point": result["id"]}


def told(text: str) -> dict[str, Any]:
    """What the script draws."""
    (found,) = re.findall(r'data-history="([^"]*)"', text)
    drawn: dict[str, Any] = json.loads(html.unescape(found))
    return drawn


def test_a_change_leads_to_the_two_points_it_lies_between(browser: Browser, nights: Nights) -> None:
    last, first = nights.sweep_ids[CHANGED - 1], nights.sweep_ids[CHANGED]
    point = case_of(browser, first)
    linked = re.findall(r'href="(/history[^"]*)"', browser.get(f"/points/{point['point']}").text)
    of_case = next(html.unescape(one) for one in linked if "case=" in one)
    text = browser.get(of_case).text
    changes = text.partition('id="changes"')[2]
    for sweep_id in (last, first):
        assert f"/points/{case_of(browser, sweep_id)['point']}" in changes
    compared = f"/compare?baseline={last}&candidate={first}"
    assert compared in html.unescape(changes)
    assert browser.get(compared).status_code == 200
    versions = text.partition('id="versions"')[2]
    assert re.findall(r"<td>driver</td><td[^>]*>580</td><td[^>]*>590</td>", versions)
    drawn = told(text)
    assert [one["x"] for one in drawn["changes"]] == [drawn["x"][CHANGED]]
    assert [one["x"] for one in drawn["marks"]] == [drawn["x"][CHANGED]]
    assert drawn["level"][0] < drawn["level"][-1]
    assert all(drawn["low"][t] < drawn["median"][t] < drawn["high"][t] for t in range(CHANGED))


def test_a_history_is_of_a_schedule_a_node_and_the_days_that_are_asked(
    browser: Browser, nights: Nights
) -> None:
    of = case_of(browser, nights.sweep_ids[0])
    which = {"case": of["case"], "hardware": of["hardware"], "schedule": POLICY}
    asked = f"/history?{urlencode(which)}"
    assert asked in html.unescape(browser.get("/history").text), "the cases are listed"
    drawn = told(browser.get(f"{asked}&node=b&since=&until=").text)
    assert len(drawn["x"]) == NUM_NIGHTS
    assert [t for t, us in enumerate(drawn["median"]) if us is None] == [CHANGED + 3]
    assert drawn["low"] == [None] * NUM_NIGHTS, "one trial has no interval"
    days = told(browser.get(f"{asked}&since=2026-01-04&until=2026-01-06").text)
    assert len(days["x"]) == 3
    assert browser.get(f"{asked}&since=2027-01-01").status_code == 200
    missing = browser.get(f"{asked}&node=c")
    assert (missing.status_code, "on node &#39;c&#39;" in missing.text) == (404, True)
    assert browser.get("/history?case=p1:none&hardware=h1:none").status_code == 404
    assert browser.get(f"{asked}&since=yesterday").status_code == 422


def test_a_case_that_is_faster_on_a_host_that_is_slower_is_told_as_both(
    browser: Browser, sessions: Sessions
) -> None:
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    nights = Nights(Sessions(sessions.engine, clock=clock), clock)
    rng = np.random.default_rng(3)
    for number in range(NUM_NIGHTS):
        step, control = (1.0, 1.0) if number < CHANGED else (1.06, 1.12)
        step_us = 100 * step * (1 + 0.003 * rng.standard_normal())
        nights.measure({"a": OfNode((step_us,), 50 * control)})
    of = case_of(browser, nights.sweep_ids[0])
    asked = urlencode({"spec_key": of["case"], "hardware_key": of["hardware"]})
    changes = browser.http.get(f"/v1/series?{asked}").json()["changes"]
    found = [(one["measure"], one["index"], one["effect_relative"] > 0) for one in changes]
    assert found == [("raw", CHANGED, True), ("normalised", CHANGED, False)]
