"""Findings and the fleet, as HTML."""

import html
from datetime import UTC, datetime

import numpy as np
import pytest

from service.store.engine import Sessions
from service.watch.judge import Judge
from tests.integration.pages.conftest import Browser
from tests.integration.pages.test_sweeps import HOSTILE
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode


@pytest.mark.parametrize(("factor", "are_slow"), [(1.3, True), (0.7, False)])
def test_links_are_called_slow_where_they_are_slower_than_those_of_peers(
    browser: Browser, sessions: Sessions, factor: float, *, are_slow: bool
) -> None:
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    nights = Nights(
        Sessions(sessions.engine, clock=clock), clock, num_cases=3, communicating=frozenset({2})
    )
    nights.schedule()
    for _ in range(2):
        nights.measure(
            {name: OfNode((100, 200, 300 * (factor if name == "a" else 1))) for name in "abcdef"}
        )
    (fleet,) = browser.http.get("/v1/fleet?nights=5").json()["items"]
    outstanding = [one["node"] for one in fleet["nodes"] if one["link_stands_out"]]
    assert outstanding == ["a"]
    assert ("slow in communication alone: a" in fleet["sentence"]) is are_slow
    assert ("slow links" in browser.get("/hardware").text) is are_slow


@pytest.fixture
def finding_id(browser: Browser, sessions: Sessions) -> str:
    """Nights that get slower by 6 %, judged."""
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    nights = Nights(Sessions(sessions.engine, clock=clock), clock)
    rng = np.random.default_rng(3)
    for number in range(27):
        if number == 20:
            nights.schedule()
        slower = 1.06 if number >= 20 else 1.0
        step_us = 100 * slower * (1 + 0.005 * rng.standard_normal())
        nights.measure({"a": OfNode((step_us,), 50.0)})
    Judge(nights.sessions).look()
    (found,) = browser.http.get("/v1/findings").json()["items"]
    assert isinstance(found["id"], str)
    return found["id"]


def test_a_finding_leads_from_the_overview_to_what_is_known_and_is_decided(
    browser: Browser, finding_id: str
) -> None:
    api = browser.http.get(f"/v1/findings/{finding_id}").json()
    path = f"/findings/{finding_id}"
    for list_page in ("/", "/findings"):
        assert f'href="{path}"' in browser.get(list_page).text
    text = html.unescape(browser.get(path).text)
    assert api["sentence"] in text
    assert api["reproduce"] in text
    compared = f"baseline={api['last_good']['sweep_id']}&candidate={api['night']['sweep_id']}"
    assert compared in text
    decided = browser.send(path, seen_at=path, state="acknowledged", reason=HOSTILE)
    assert decided.headers["location"] == path
    again = browser.get(path).text
    assert HOSTILE in html.unescape(again)
    assert "<script>alert" not in again
    assert browser.send(path, seen_at=path, state="fixed", reason="x").status_code == 303
    for list_page in ("/", "/findings"):
        assert f'href="{path}"' in browser.get(list_page).text, "seen until it has recovered"
    assert browser.send(path, seen_at=path, state="odd", reason="x").status_code == 422
    assert browser.send(path, seen_at=path, state="suspect", reason="x").status_code == 409
    dismissed = {"state": "dismissed", "reason": "x", "dismissal": "hardware"}
    assert browser.send(path, seen_at=path, **dismissed).status_code == 303
    assert browser.http.get(f"/v1{path}").json()["dismissal"] == "hardware"
    assert f'href="{path}"' not in browser.get("/findings").text
    assert f'href="{path}"' in browser.get("/findings?state=any").text
    assert browser.get("/findings?state=odd").status_code == 422
    fleet = browser.http.get("/v1/fleet").json()["items"][0]
    assert fleet["sentence"] in browser.get("/hardware").text
