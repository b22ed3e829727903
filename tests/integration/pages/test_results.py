"""A point's page and comparisons, as HTML."""

import html

from service.store.engine import Sessions
from tests.integration.api import measuring
from tests.integration.pages.conftest import Browser
from tests.integration.pages.test_sweeps import HOSTILE, make, step_us


def test_a_point_shows_every_step_rank_and_collective(browser: Browser, sessions: Sessions) -> None:
    sweep_id = make(sessions, blocks="mlp")
    measuring.measure_all(sessions, step_us)
    found = browser.http.get(f"/v1/results?sweep={sweep_id}&tp_degree=2&batch=64").json()["items"]
    text = html.unescape(browser.get(f"/points/{found[0]['id']}").text)
    assert text.count("h.01") == 10
    assert "all_reduce" in text
    assert "mlp.forward" in text
    for note in found[0]["quality_notes"]:
        assert note in text
    ranks = text.partition('aria-label="Ranks"')[2].partition("</table>")[0]
    assert ranks.count("<tr>") == 1 + 2 * 2


def test_a_point_that_is_not_there_is_404(browser: Browser) -> None:
    assert browser.get("/points/none").status_code == 404


def test_without_sides_comparing_says_what_to_do(browser: Browser, sessions: Sessions) -> None:
    assert "measure a sweep twice" in browser.get("/compare").text
    make(sessions)
    assert "Choose two sides" in browser.get("/compare").text


def test_a_comparison_says_what_the_api_says_largest_effect_first(
    browser: Browser, sessions: Sessions
) -> None:
    before = make(sessions, blocks="mlp")
    measuring.measure_all(sessions, step_us)
    after = make(sessions, blocks="mlp", batch=[1, 64])
    measuring.measure_all(sessions, lambda spec: step_us(spec) * (2 if spec.batch == 64 else 1.1))
    query = f"baseline={before}&candidate={after}"
    text = html.unescape(browser.get(f"/compare?{query}").text)
    api = browser.http.get(f"/v1/compare?{query}").json()
    assert api["sentence"] in text
    plot = text.partition('aria-label="Plot of ratios"')[2].partition("</svg>")[0]
    assert plot.index("batch 64") < plot.index("batch 1,")
    assert "Only in the baseline: 2" in text
    only = browser.get(f"/compare?{query}&only=faster").text
    assert 'class="effect' not in only


def test_what_cannot_be_compared_is_said_beside_the_form(browser: Browser) -> None:
    for side in ("none", "odd:selector", HOSTILE):
        answer = browser.http.get("/compare", params={"baseline": side, "candidate": "none"})
        assert answer.status_code in {404, 422}, side
        assert 'role="alert"' in answer.text
        assert "<script>alert" not in answer.text
