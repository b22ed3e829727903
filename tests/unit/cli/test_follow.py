import pytest

from service.cli.client import Client
from service.cli.follow import events, progress
from tests.unit.cli.answers import SWEEP_ID, sweep
from tests.unit.cli.fake_server import FakeServer, Reply, serving, stream

SHOW, EVENTS = f"GET /v1/sweeps/{SWEEP_ID}", f"GET /v1/sweeps/{SWEEP_ID}/events"


def seen(server: FakeServer) -> list[str]:
    with Client(server.url) as client:
        return [event.id for event in events(client, SWEEP_ID, pause=lambda _: None)]


AWAY = pytest.mark.parametrize(
    "away", [Reply(drops=True), Reply({}, status=503)], ids=["gone", "503"]
)


@AWAY
def test_broken_stream_is_resumed_after_the_last_event(away: Reply) -> None:
    with serving() as server:
        server.on(SHOW, Reply(sweep("running")), Reply(sweep("running")), Reply(sweep("succeeded")))
        server.on(
            EVENTS,
            stream((1, "trial_started", {}), (2, "trial_succeeded", {})),
            away,
            stream((3, "sweep_finished", {})),
        )
        assert seen(server) == ["1", "2", "3"]
        calls = [call.headers.get("Last-Event-ID") for call in server.calls(EVENTS)]
        assert calls == [None, "2", "2"]


def test_a_sweep_that_is_over_with_nothing_to_say_ends_at_once() -> None:
    with serving() as server:
        server.on(SHOW, Reply(sweep("succeeded")))
        server.on(EVENTS, Reply(status=204))
        assert seen(server) == []


def test_progress_ends_with_the_finished_sweep() -> None:
    with serving() as server:
        server.on(SHOW, Reply(sweep()), Reply(sweep("running", done=3)), Reply(sweep("succeeded")))
        server.on(EVENTS, stream((1, "trial_started", {})), Reply(status=204))
        with Client(server.url) as client:
            states = [found.state for found in progress(client, SWEEP_ID, pause=lambda _: None)]
    assert states[0] == "queued"
    assert states[-1] == "succeeded"


@AWAY
def test_a_short_outage_is_waited_out(away: Reply) -> None:
    pauses: list[float] = []
    with serving() as server, Client(server.url) as client:
        server.on(SHOW, Reply(sweep("running")), away, away, Reply(sweep("succeeded", done=6)))
        server.on(EVENTS, Reply(status=204))
        found = list(progress(client, SWEEP_ID, pause=pauses.append))
    assert found[-1].is_over
    assert pauses
