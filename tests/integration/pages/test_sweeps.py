"""The overview, the list of sweeps and a sweep's page, as HTML."""

import html
import json

import pytest

from service.analysis import plan
from service.store import sweeps
from service.store.engine import Sessions
from tests.integration.api import measuring
from tests.integration.api.test_calibrations import ASKED as CALIBRATION
from tests.integration.api.test_calibrations import time_us
from tests.integration.pages.conftest import Browser
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec

HOSTILE = '"><script>alert(1)</script>'
BODY = {**measuring.BODY, "blocks": ["mlp", "attention"], "batch": [1, 64, 1024]}


def make(sessions: Sessions, **changes: object) -> str:
    """A queued sweep."""
    spec = SweepSpec.model_validate({**BODY, **changes})
    expansion = plan.expand(spec, nodes=[], max_points=1000)
    with sessions.writing() as session:
        made = sweeps.create(session, spec, created_by=HOSTILE, seed=1, expansion=expansion)
    return made.id


def step_us(spec: PointSpec) -> float:
    """Pays from a batch on."""
    return 10 + 6 * spec.batch / spec.tp_degree + 100 * (spec.tp_degree > 1)


@pytest.mark.parametrize("path", ["/", "/sweeps"])
def test_with_no_data_a_page_says_what_to_do(path: str, browser: Browser) -> None:
    answer = browser.get(path)
    assert answer.status_code == 200
    assert "There is no sweep yet." in answer.text
    assert 'href="/sweeps/new"' in answer.text


def test_what_people_name_stays_text(browser: Browser, sessions: Sessions) -> None:
    sweep_id = make(sessions, name=HOSTILE, tags={HOSTILE: HOSTILE})
    for path in ("/", "/sweeps", f"/sweeps/{sweep_id}", f"/sweeps/{sweep_id}/progress"):
        text = browser.get(path).text
        assert "<script>alert" not in text, path


def test_a_sweep_that_waits_says_so_and_can_be_cancelled(
    browser: Browser, sessions: Sessions
) -> None:
    sweep_id = make(sessions)
    text = browser.get(f"/sweeps/{sweep_id}").text
    assert "waits for a free machine" in text
    assert "Nothing of this grid is measured yet" in text
    assert f'action="/sweeps/{sweep_id}/cancel"' in text
    assert f'data-events="/v1/sweeps/{sweep_id}/events"' in text


def test_a_measured_sweep_shows_map_break_even_and_table(
    browser: Browser, sessions: Sessions
) -> None:
    sweep_id = make(sessions)
    measuring.measure_all(sessions, step_us)
    text = html.unescape(browser.get(f"/sweeps/{sweep_id}").text)
    api = browser.http.get(f"/v1/breakeven?sweep={sweep_id}").json()["items"]
    shown = [one["sentence"] for one in api if one["block"] == "mlp"]
    assert shown
    assert all(sentence in text for sentence in shown)
    assert text.count('class="cell heat-') == 6
    assert "data-events" not in text
    other = browser.get(f"/sweeps/{sweep_id}?block=attention&metric=speed_up")
    assert other.status_code == 200
    assert 'class="cell diverging-' in other.text


def test_the_table_is_sorted_and_filtered_as_asked(browser: Browser, sessions: Sessions) -> None:
    sweep_id = make(sessions, blocks="mlp")
    measuring.measure_all(sessions, step_us)
    base = f"/sweeps/{sweep_id}?sort=step_time"

    def times(query: str) -> list[str]:
        table = browser.get(base + query).text.partition('aria-label="Results"')[2]
        return [row.partition("</tr>")[0] for row in table.split("<tr>")[2:]]

    rising, falling = times(""), times("&desc=true")
    assert rising == falling[::-1]
    assert len(rising) == 6
    assert len(times("&only=tp%3D2")) == 3
    assert times("&only=nothing-is-so") == []


def test_failed_points_show_their_errors_and_can_be_put_back(
    browser: Browser, sessions: Sessions
) -> None:
    sweep_id = make(sessions, blocks="mlp", tp_degree=[1, 3], batch=1)
    measuring.register(sessions)
    while lease := measuring.claim(sessions):
        measuring.fail(sessions, lease)
    path = f"/sweeps/{sweep_id}"
    text = browser.get(path).text
    assert "no room for 3 GiB" in text
    assert "<pre>oom</pre>" in text
    assert "Combinations that cannot be measured" in text
    assert browser.send(f"{path}/retry", seen_at=path).headers["location"] == path
    assert "Failed points" not in browser.get(path).text
    assert browser.send(f"{path}/retry", seen_at=path).status_code == 409


def test_each_grid_lists_its_own_failures_and_says_where_all_are(
    browser: Browser, sessions: Sessions
) -> None:
    names = ["gpt2", "pythia-31m"]
    many = list(range(1, 61))
    sweep_id = make(sessions, models=names, blocks="mlp", tp_degree=1, batch=many, replicates=1)
    measuring.register(sessions)
    while lease := measuring.claim(sessions):
        measuring.fail(sessions, lease)
    for name, other in (names, names[::-1]):
        text = browser.get(f"/sweeps/{sweep_id}?model={name}").text
        listed = text.partition('aria-label="Failed points"')[2].partition("</table>")[0]
        assert (listed.count(f"<td>{name} "), listed.count(f"<td>{other} ")) == (50, 0)
        assert "50 of 120" in text
        assert f'href="/v1/sweeps/{sweep_id}/points?state=failed"' in text


def test_each_grid_lists_its_own_rejections(browser: Browser, sessions: Sessions) -> None:
    names = ["gpt2", "pythia-31m"]
    sweep_id = make(sessions, models=names, blocks="mlp", tp_degree=[1, 5], batch=[1, 2])
    text = browser.get(f"/sweeps/{sweep_id}?model=pythia-31m").text
    listed = text.partition('aria-label="Rejected combinations"')[2].partition("</table>")[0]
    assert (listed.count("<td>pythia-31m "), listed.count("<td>gpt2 ")) == (2, 0)
    assert "2 of 4" in text
    assert f'href="/v1/sweeps/{sweep_id}/points?state=rejected"' in text


def test_a_grid_is_called_cut_only_where_it_is(
    browser: Browser, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/sweeps/{make(sessions, blocks='mlp')}"
    measuring.measure_all(sessions, step_us)
    monkeypatch.setattr("service.pages.sweep.MOST_RESULTS", 6)
    assert "results of this grid were read" not in browser.get(path).text
    monkeypatch.setattr("service.pages.sweep.MOST_RESULTS", 5)
    assert "The first 5 results of this grid were read" in browser.get(f"{path}?only=tp%3D2").text


def test_the_request_that_is_shown_makes_the_same_sweep(
    browser: Browser, sessions: Sessions
) -> None:
    sweep_id = make(sessions, name="it's \\ a 'test'", tags={"a": "b"})
    text = html.unescape(browser.get(f"/sweeps/{sweep_id}").text)
    command, _, body = text.partition("<<'JSON'\n")
    assert "curl -X POST http://127.0.0.1:8321/v1/sweeps " in command
    again = browser.http.post("/v1/sweeps", json=json.loads(body.partition("\nJSON")[0])).json()
    with sessions.reading() as session:
        assert sweeps.find(session, again["id"]).spec == sweeps.find(session, sweep_id).spec


def test_an_axis_value_that_the_sweep_does_not_have_is_named(
    browser: Browser, sessions: Sessions
) -> None:
    answer = browser.get(f"/sweeps/{make(sessions)}?block=layer")
    assert answer.status_code == 422
    assert "it has: mlp, attention" in answer.text


def test_a_calibration_has_a_page_of_its_own(browser: Browser, sessions: Sessions) -> None:
    measuring.register(sessions)
    sweep_id = browser.http.post("/v1/calibrations", json=CALIBRATION).json()["id"]
    path = f"/sweeps/{sweep_id}"
    waiting = browser.get(path).text
    assert "Nothing is measured yet" in waiting
    assert f'action="{path}/cancel"' in waiting
    lease = measuring.claim(sessions)
    assert lease is not None
    measuring.fail(sessions, lease)
    measuring.calibrate_all(sessions, time_us)
    text = html.unescape(browser.get(path).text)
    for shown in (
        "all_reduce on ",
        "Rooflines",
        "no room for 3 GiB",
        "product of 1 x 256 and 256 x 256, tp_degree 1, float32",
        "all_gather of 1.00 KiB, tp_degree 2, float32",
        "/v1/calibrations",
    ):
        assert shown in text, shown
    assert f'<a href="{path}">' in browser.get("/hardware").text
    for form in ("/schedules", "/baselines", f"/sweeps/{make(sessions)}"):
        assert f'<option value="{sweep_id}"' not in browser.get(form).text
