"""A profile is asked for with the sweep, stored with its trial, and downloaded as it was made."""

import gzip

from fastapi.testclient import TestClient

from service.store import queue
from service.store.engine import Sessions
from tests.integration.api.measuring import BODY
from tests.integration.store.builders import claimed, register, result_of
from workers.contract.profile import Profile

TRACE = gzip.compress(b'{"traceEvents": []}')


def test_a_profiled_trial_gives_its_trace_and_its_share(
    client: TestClient, sessions: Sessions
) -> None:
    register(sessions)
    assert client.post("/v1/sweeps", json={**BODY, "profile": True}).status_code == 202
    lease = claimed(sessions)
    assert lease.profile
    profile = Profile(trace_gzip=TRACE, collective_share=0.25)
    with sessions.writing() as session:
        queue.start(session, lease)
        queue.complete(session, lease, result_of(lease).model_copy(update={"profile": profile}))
    answer = client.get(f"/v1/trials/{lease.trial_id}/profile")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/gzip"
    assert answer.content == TRACE
    (trial,) = client.get(f"/v1/results/{lease.point_id}").json()["trials"]
    assert trial["profiled_collective_share"] == 0.25


def test_a_trial_without_a_profile_says_how_to_get_one(
    client: TestClient, sessions: Sessions
) -> None:
    register(sessions)
    client.post("/v1/sweeps", json=BODY)
    lease = claimed(sessions)
    assert not lease.profile
    with sessions.writing() as session:
        queue.start(session, lease)
        queue.complete(session, lease, result_of(lease))
    problem = client.get(f"/v1/trials/{lease.trial_id}/profile").json()
    assert problem["code"] == "not_found"
    assert "profile: true" in problem["detail"]
    (trial,) = client.get(f"/v1/results/{lease.point_id}").json()["trials"]
    assert trial["profiled_collective_share"] is None
