"""A sweep that measures further batches by itself until its break-even is known closely enough."""

import pytest
from fastapi.testclient import TestClient

from service.store.engine import Sessions
from tests.integration.api.measuring import BODY, claim, complete, measure_all, register
from tests.narrowing import block_of
from workers.contract.point import PointSpec


def step_us(spec: PointSpec) -> float:
    """Alone 10 a row; on two ranks half of it and 100: equal at batch 20."""
    return 10 * spec.batch / spec.tp_degree + (100 if spec.tp_degree > 1 else 0)


def submit(client: TestClient, refine: object, **more: object) -> str:
    body = {**BODY, "batch": [1, 1024], "refine": refine, **more}
    answer = client.post("/v1/sweeps", json=body)
    assert answer.status_code == 202, answer.text
    sweep_id: str = answer.json()["id"]
    return sweep_id


def batches(client: TestClient, sweep_id: str) -> dict[int, list[int]]:
    """By degree, of all points that succeeded."""
    items = client.get(f"/v1/sweeps/{sweep_id}/points?limit=200").json()["items"]
    assert {one["state"] for one in items} == {"succeeded"}
    found: dict[int, list[int]] = {}
    for one in items:
        found.setdefault(one["spec"]["tp_degree"], []).append(one["spec"]["batch"])
    return {degree: sorted(own) for degree, own in found.items()}


def test_rounds_halve_the_bracket_until_it_is_as_narrow_as_asked(
    client: TestClient, sessions: Sessions
) -> None:
    sweep_id = submit(client, {"rel_width": 0.2})
    measure_all(sessions, step_us)
    found = batches(client, sweep_id)
    assert found[1] == found[2], "both degrees at each new batch"
    left = max(batch for batch in found[2] if batch < 20)
    right = min(batch for batch in found[2] if batch >= 20)
    assert right <= left * 1.2
    assert len(found[2]) <= 2 + 6, "log2(log(1024) / log(1.2)) is 5.2"
    sweep = client.get(f"/v1/sweeps/{sweep_id}").json()
    assert (sweep["state"], sweep["num_points"]) == ("succeeded", 2 * len(found[2]))
    assert sweep["trial_counts"]["succeeded"] == 2 * sweep["num_points"]
    (report,) = client.get(f"/v1/breakeven?sweep={sweep_id}").json()["items"]
    assert report["pays_from"]["batch"] == pytest.approx(20, rel=0.02)


def test_no_more_points_are_added_than_may_be(client: TestClient, sessions: Sessions) -> None:
    sweep_id = submit(client, {"rel_width": 0.01, "max_points": 4})
    measure_all(sessions, step_us)
    assert {degree: len(own) for degree, own in batches(client, sweep_id).items()} == {1: 4, 2: 4}


def test_a_sweep_that_does_not_cross_or_does_not_ask_ends_as_it_was(
    client: TestClient, sessions: Sessions
) -> None:
    asked = submit(client, refine=True)
    plain = submit(client, refine=False)
    measure_all(sessions, lambda spec: 100.0 * spec.batch * spec.tp_degree)
    for sweep_id in (asked, plain):
        assert batches(client, sweep_id) == {1: [1, 1024], 2: [1, 1024]}


def test_a_cancelled_sweep_begins_no_further_round(client: TestClient, sessions: Sessions) -> None:
    sweep_id = submit(client, refine=True, replicates=1)
    register(sessions)
    leases = [lease for _ in range(3) if (lease := claim(sessions))]
    for lease in leases[:-1]:
        complete(sessions, lease, step_us(block_of(lease.spec)))
    while (lease := claim(sessions)) is not None:
        complete(sessions, lease, step_us(block_of(lease.spec)))
    client.post(f"/v1/sweeps/{sweep_id}/cancel")
    complete(sessions, leases[-1], step_us(block_of(leases[-1].spec)))
    sweep = client.get(f"/v1/sweeps/{sweep_id}").json()
    assert (sweep["num_points"], sweep["counts"]["queued"]) == (4, 0)
