"""Pages that answer questions: hardware, recommendation, memory, claims."""

import html
import json
import re
from pathlib import Path

import pytest

from service.store.engine import Sessions
from tests.integration.api import measuring
from tests.integration.pages.conftest import Browser
from tests.integration.pages.test_sweeps import HOSTILE, make, step_us

CURVES = Path(__file__).parents[2] / "cases" / "nccl-tests" / "h100-sxm-x8.all_reduce.aws-p5.txt"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/hardware", "tpsweep import FILE"),
        ("/recommend", "Choose a model"),
        ("/memory", "nothing has to be measured"),
        ("/claims", "not measured here yet"),
        ("/history", "make a schedule"),
    ],
)
def test_with_no_data_a_page_says_what_to_do(path: str, said: str, browser: Browser) -> None:
    answer = browser.get(path)
    assert (answer.status_code, said in answer.text) == (200, True)


def test_curves_are_handed_to_the_script_and_stand_in_a_table(browser: Browser) -> None:
    measured = browser.http.post(
        "/v1/results/import?hardware=h100",
        content=CURVES.read_bytes(),
        headers={"Content-Type": "text/plain"},
    ).json()["curves"][0]
    text = browser.get("/hardware").text
    (drawn,) = re.findall(r'data-curves="([^"]*)"', text)
    curve = json.loads(html.unescape(drawn))
    rows = [row for row in measured["rows"] if row["message_bytes"]]
    assert curve["x"] == [row["message_bytes"] for row in rows]
    busbw = [row["out_of_place"]["busbw_gb_per_s"] for row in rows]
    assert curve["lines"][0]["values"] == busbw
    assert text.count("<tr>") >= len(rows)


def test_a_recommendation_is_what_the_api_answers(browser: Browser, sessions: Sessions) -> None:
    make(sessions, blocks="mlp", phase="prefill")
    measuring.measure_all(sessions, step_us)
    query = "model=pythia-31m&batch=64&phase=prefill&seq=1&dtype=float32"
    (api,) = browser.http.get(f"/v1/recommendation?{query}").json()["items"]
    text = html.unescape(browser.get(f"/recommend?{query}").text)
    assert api["sentence"] in text
    assert text.count('<td class="text">') == len(api["candidates"])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("model=gpt-9", "gpt-9"),
        ("model=gpt2&batch=x", "whole numbers"),
        ("model=gpt2&hardware=none-such", "none-such"),
    ],
)
def test_what_cannot_be_recommended_is_said_beside_the_form(
    query: str, said: str, browser: Browser
) -> None:
    answer = browser.get(f"/recommend?{query}")
    assert answer.status_code == 422
    assert said in answer.text
    assert 'action="/recommend"' in answer.text


def test_memory_is_what_the_api_answers(browser: Browser) -> None:
    body = {"model": "llama-2-70b", "tp_degree": [2, 8], "zero_stage": [0, 3], "data_parallel": 8}
    plans = browser.http.post("/v1/memory", json=body).json()["plans"]
    query = "model=llama-2-70b&tp_degree=2+8&zero_stage=0,3&data_parallel=8&device_memory_gb=80"
    text = browser.get(f"/memory?{query}").text
    for plan in plans:
        assert f"{plan['total_bytes'] / 1e9:.3g} GB" in text.replace(",", "")
    assert text.count(">fits<") == sum(plan["total_bytes"] <= 80e9 for plan in plans)


@pytest.mark.parametrize("field", ["tp_degree", "zero_stage", "data_parallel", "device_memory_gb"])
def test_what_cannot_be_planned_is_said_beside_the_form(field: str, browser: Browser) -> None:
    asked = {"model": "gpt2", field: HOSTILE[:20]}
    answer = browser.http.get("/memory", params=asked)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert field in answer.text.partition('role="alert"')[2]
    assert "<script>alert" not in answer.text
