import pytest
from fastapi.testclient import TestClient

from service.api.examples import MEMORY


@pytest.mark.parametrize("name", MEMORY)
def test_examples_are_planned(client: TestClient, name: str) -> None:
    answer = client.post("/v1/memory", json=MEMORY[name]["value"])
    assert answer.status_code == 200
    assert all(one["total_bytes"] > 0 for one in answer.json()["plans"])


@pytest.mark.parametrize(
    ("wrong", "pointer", "says"),
    [
        ({"tp_degree": 3}, "/tp_degree", "these work: 1, 2, 4, 8, 16, 32"),
        ({"zero_stage": 4}, "/zero_stage", "none of 0, 1, 2, 3"),
        ({"model": "llama-2-7"}, "/model", "did you mean llama-2-7b"),
    ],
)
def test_what_cannot_be_planned_names_the_field_and_what_works(
    client: TestClient, wrong: dict[str, object], pointer: str, says: str
) -> None:
    answer = client.post("/v1/memory", json={"model": "llama-2-7b", "tp_degree": 1, **wrong})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"] == pointer
    assert says in error["detail"]
