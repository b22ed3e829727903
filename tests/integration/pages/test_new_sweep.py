"""A sweep submitted from the form, and what the preview says of it."""

import pytest

from service.pages.sweep_form import STARTING_POINTS, filled
from service.store import sweeps
from service.store.engine import Sessions
from tests.integration.api import measuring
from tests.integration.pages.conftest import Browser
from tests.integration.pages.test_sweeps import HOSTILE, make
from workers.contract.sweep import SweepSpec

NEW = "/sweeps/new"
FILLED = filled(SweepSpec.model_validate({**measuring.BODY, "name": "from the form"}))


def _count(sessions: Sessions) -> int:
    with sessions.reading() as session:
        return len(sweeps.page(session, limit=50).items)


@pytest.mark.parametrize("name", STARTING_POINTS)
def test_the_form_is_filled_from_each_starting_point(name: str, browser: Browser) -> None:
    answer = browser.http.get(NEW, params={"preset": name})
    assert str(STARTING_POINTS[name]["name"]) in answer.text.replace("&#39;", "'")


def test_a_filled_form_is_a_sweep_once(browser: Browser, sessions: Sessions) -> None:
    first = browser.send(NEW, seen_at=NEW, key="k", **FILLED)
    again = browser.send(NEW, seen_at=NEW, key="k", **FILLED)
    assert first.status_code == 303
    assert again.headers["location"] == first.headers["location"]
    changed = browser.send(NEW, seen_at=NEW, key="k", **{**FILLED, "batch": "2"})
    assert changed.headers["location"] != first.headers["location"]
    assert _count(sessions) == 2
    assert "from the form" in browser.get(first.headers["location"]).text


def test_an_earlier_sweep_is_made_again(browser: Browser, sessions: Sessions) -> None:
    sweep_id = make(sessions, name="first", tags={"a": "b"})
    text = browser.get(f"{NEW}?sweep={sweep_id}").text
    assert 'value="first"' in text
    assert "a=b</textarea>" in text
    assert browser.get(f"{NEW}?sweep=none").status_code == 404
    assert browser.get(f"{NEW}?preset=none").status_code == 422


def test_the_preview_counts_and_says_what_cannot_be(browser: Browser) -> None:
    path = f"{NEW}/preview"
    text = browser.send(path, seen_at=NEW, **{**FILLED, "tp_degree": "1 2 3"}).text
    assert "<dd>4</dd>" in text
    assert "at most" not in text, "a trial of slow steps goes on beyond its time limit"
    assert "on one machine, if every trial uses its time limit" in text
    assert "Cannot be measured" in text
    assert "would work: 1, 2, 4, 8" in text
    wrong = browser.send(path, seen_at=NEW, **{**FILLED, "batch": "many"})
    assert (wrong.status_code, "whole numbers" in wrong.text) == (200, True)
    batches = " ".join(map(str, range(1, 999)))
    large = browser.send(path, seen_at=NEW, **{**FILLED, "batch": batches, "seq": "1 2 3 4 5 6"})
    assert "a sweep may have 10000" in large.text
    longer = browser.send(path, seen_at=NEW, **{**FILLED, "batch": f"{batches} {batches}"})
    assert "at most 1000; got 1996" in longer.text


def test_what_is_wrong_comes_back_with_the_form_as_it_was(
    browser: Browser, sessions: Sessions
) -> None:
    for changes in ({"tp_degree": "3"}, {"models": HOSTILE}, {"more": HOSTILE}, {"name": "\x07"}):
        answer = browser.send(NEW, seen_at=NEW, **{**FILLED, "tags": "kept=yes", **changes})
        assert answer.status_code == 422, changes
        assert 'role="alert"' in answer.text
        assert "kept=yes" in answer.text
        assert "<script>alert" not in answer.text
    assert _count(sessions) == 0
