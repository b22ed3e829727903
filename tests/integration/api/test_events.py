from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from service.api.app import create_app
from service.api.feed import BATCH
from service.api.state import Service
from service.settings import Settings
from service.store import events
from service.store.engine import Sessions
from service.store.events import Happening
from service.store.states import EventKind
from tests.integration.api.measuring import BODY, claim, complete, measure_all, register
from tests.integration.api.serving import read_events, serving

TIMEOUT = 20


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    with serving(app) as address:
        yield address


def _submit(address: str) -> str:
    answer = httpx2.post(f"{address}/v1/sweeps", json={**BODY, "replicates": 1})
    identity = answer.json()["id"]
    assert isinstance(identity, str)
    return f"{address}/v1/sweeps/{identity}/events"


def test_events_come_while_they_happen_and_end_with_the_sweep(
    address: str, sessions: Sessions
) -> None:
    register(sessions)
    with httpx2.stream("GET", _submit(address), timeout=TIMEOUT) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        coming = read_events(answer)
        assert next(coming).kind == "sweep_created"
        lease = claim(sessions)
        assert lease is not None
        assert [next(coming).kind, next(coming).kind] == ["sweep_bound", "trial_started"]
        complete(sessions, lease, 100)
        event = next(coming)
        assert (event.kind, event.data["counts"]) == (
            "trial_succeeded",
            {
                "queued": 3,
                "leased": 0,
                "running": 0,
                "succeeded": 1,
                "failed": 0,
                "cancelled": 0,
            },
        )
        measure_all(sessions, lambda _: 100)
        rest = list(coming)
    assert rest[-1].kind == "sweep_finished"
    numbers = [one.seq for one in rest]
    assert numbers == list(range(event.seq + 1, event.seq + 1 + len(rest)))


def test_a_stream_resumes_after_the_last_event_that_was_seen(
    address: str, sessions: Sessions
) -> None:
    url = _submit(address)
    measure_all(sessions, lambda _: 100)
    with httpx2.stream("GET", url, timeout=TIMEOUT) as answer:
        everything = list(read_events(answer))
    for seen in (1, 5):
        headers = {"Last-Event-ID": str(seen)}
        with httpx2.stream("GET", url, headers=headers, timeout=TIMEOUT) as answer:
            assert list(read_events(answer)) == everything[seen:]


def test_who_comes_late_need_not_wait_for_the_next_commit(address: str) -> None:
    url = _submit(address)
    with httpx2.stream("GET", url, timeout=TIMEOUT) as early:
        assert next(read_events(early)).kind == "sweep_created"
        for _ in range(3):
            with httpx2.stream("GET", url, timeout=TIMEOUT) as late:
                assert next(read_events(late)).kind == "sweep_created"


def test_nobody_is_asked_to_reconnect_to_a_sweep_that_is_over(
    address: str, sessions: Sessions
) -> None:
    url = _submit(address)
    measure_all(sessions, lambda _: 100)
    with httpx2.stream("GET", url, timeout=TIMEOUT) as answer:
        last = list(read_events(answer))[-1]
    again = httpx2.get(url, headers={"Last-Event-ID": str(last.seq)}, timeout=TIMEOUT)
    assert (again.status_code, again.content) == (204, b"")


def test_a_cancelled_sweep_ends_its_streams(address: str) -> None:
    url = _submit(address)
    with httpx2.stream("GET", url, timeout=TIMEOUT) as answer:
        coming = read_events(answer)
        next(coming)
        httpx2.post(url.replace("/events", "/cancel"))
        assert [one.kind for one in coming] == ["sweep_cancelled", "sweep_finished"]


@pytest.mark.parametrize("num_between", [2 * BATCH, 2 * BATCH - 3], ids=["some", "full reads"])
def test_more_events_than_one_read_takes_all_arrive_and_the_stream_ends(
    num_between: int, address: str, sessions: Sessions
) -> None:
    url = _submit(address)
    sweep_id = url.split("/")[-2]
    with sessions.writing() as session:
        for _ in range(num_between):
            events.append(session, sweep_id, Happening(EventKind.TRIAL_REQUEUED, {}))
    httpx2.post(url.replace("/events", "/cancel"))
    with httpx2.stream("GET", url, timeout=TIMEOUT) as answer:
        numbers = [one.seq for one in read_events(answer)]
    assert numbers == list(range(1, num_between + 4))


def test_a_quiet_stream_is_kept_open_by_comments(settings: Settings, sessions: Sessions) -> None:
    quick = settings.model_copy(update={"stream_heartbeat_s": 0.05})
    with (
        serving(create_app(quick, sessions)) as address,
        httpx2.stream("GET", _submit(address), timeout=TIMEOUT) as answer,
    ):
        comments = (line for line in answer.iter_lines() if line.startswith(":"))
        assert [next(comments), next(comments)] == [": nothing new", ": nothing new"]


def test_more_streams_than_allowed_are_told_to_come_back(
    settings: Settings, sessions: Sessions
) -> None:
    few = settings.model_copy(update={"max_streams": 1})
    app = create_app(few, sessions)
    service: Service = app.state.service
    with serving(app) as address:
        url = _submit(address)
        with httpx2.stream("GET", url, timeout=TIMEOUT) as answer:
            coming = read_events(answer)
            next(coming)
            refused = httpx2.get(url)
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
            assert int(refused.headers["retry-after"]) > 0
            assert httpx2.get(f"{address}/v1/sweeps").status_code == 200
        httpx2.post(url.replace("/events", "/cancel"))
        while service.feed.num_listeners:
            httpx2.get(f"{address}/livez")
        assert httpx2.get(url, timeout=TIMEOUT).status_code == 200


def test_a_burst_of_streams_leaves_no_more_than_allowed(
    settings: Settings, sessions: Sessions
) -> None:
    few = settings.model_copy(update={"max_streams": 1})
    with (
        serving(create_app(few, sessions)) as address,
        httpx2.Client(timeout=TIMEOUT) as http,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = [http.build_request("GET", url) for url in [_submit(address)] * 8]
        answers = list(pool.map(lambda one: http.send(one, stream=True), asked))
        assert sorted(answer.status_code for answer in answers) == [200] + [429] * 7
        for answer in answers:
            answer.close()


def test_a_stream_asks_for_its_scope_like_every_route(
    settings: Settings, sessions: Sessions
) -> None:
    guarded = settings.model_copy(update={"require_tokens": True})
    with TestClient(create_app(guarded, sessions), base_url="http://127.0.0.1") as client:
        assert client.get("/v1/sweeps/x/events").status_code == 401
