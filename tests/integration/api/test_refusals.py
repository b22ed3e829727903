"""What no known device can measure is refused with field, value and what works, and not queued."""

import pytest
from fastapi.testclient import TestClient

from service.store.engine import Sessions
from tests.integration.api.measuring import register

BODY = {"models": "pythia-31m", "blocks": "mlp", "tp_degree": 2, "batch": 8}
CACHE = {"models": "llama-2-7b", "blocks": "layer", "phase": "decode", "batch": 4096, "seq": 65536}


@pytest.mark.parametrize("tag", ["schedule", "aa_control", "rerun_of"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/sweeps", BODY),
        ("/v1/sweeps/preview", BODY),
        ("/v1/calibrations", {}),
        ("/v1/schedules", {"name": "x", "cron": "0 2 * * *", "sweep": BODY}),
    ],
)
def test_nobody_makes_a_sweep_that_passes_for_a_night(
    tag: str, path: str, body: dict[str, object], client: TestClient, sessions: Sessions
) -> None:
    register(sessions)
    tags = {"tags": {tag: "nightly"}}
    sent = {**body, "sweep": BODY | tags} if "sweep" in body else body | tags
    answer = client.post(path, json=sent)
    assert answer.status_code == 422
    assert tag in answer.json()["errors"][0]["detail"]
    assert client.get("/v1/sweeps").json()["items"] == []
    assert client.get("/v1/schedules").json()["items"] == []


@pytest.mark.parametrize(
    ("change", "field", "value", "works"),
    [
        ({"overlap": "backward", "phase": "prefill"}, "overlap", "backward", "for phase=train"),
        (
            {"overlap": "chunked", "arrangement": "row_row"},
            "overlap",
            "chunked",
            "works for arrangement column_row",
        ),
        ({"overlap": "chunked", "batch": 7}, "overlap", "chunked", "any even number works"),
        (
            {"overlap": "chunked", "collective_impl": "shared_memory"},
            "overlap",
            "chunked",
            "collective_impl=backend works",
        ),
        ({"collective_impl": "one_shot"}, "collective_impl", "one_shot", "they have backend"),
        (
            {"collective_impl": "shared_memory", "arrangement": "sequence_parallel"},
            "collective_impl",
            "shared_memory",
            "collective_impl=backend works",
        ),
        ({"launch": "cuda_graph"}, "launch", "cuda_graph", "launch=eager works"),
        ({"arrangement": "layer_split"}, "arrangement", "layer_split", "works for block=layer"),
        (CACHE, "batch", "4096", "a batch up to "),
        (
            {"pair": {"axis": "overlap", "values": ["none", "backward"]}, "phase": "decode"},
            "overlap",
            "backward",
            "for phase=train",
        ),
    ],
)
def test_a_point_that_cannot_be_is_refused_before_anything_is_queued(
    change: dict[str, object],
    field: str,
    value: str,
    works: str,
    client: TestClient,
    sessions: Sessions,
) -> None:
    register(sessions)
    preview = client.post("/v1/sweeps/preview", json=BODY | change).json()
    assert preview["points"] == []
    first = preview["rejected"][0]
    assert (first["field"], str(first["value"])) == (field, value)
    assert works in first["reason"]
    answer = client.post("/v1/sweeps", json=BODY | change)
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "nothing_to_measure")
    details = [e["detail"] for e in problem["errors"] if e["pointer"] == f"/{field}"]
    assert any(works in detail and value in detail for detail in details)
    assert client.get("/v1/sweeps").json()["items"] == []
