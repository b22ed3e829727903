from fastapi.testclient import TestClient

from service.api.examples.planning import MEMORY


def test_examples_are_planned(client: TestClient) -> None:
    for example in MEMORY.values():
        answer = client.post("/v1/memory", json=example["value"])
        assert answer.status_code == 200
        assert all(one["total_bytes"] > 0 for one in answer.json()["plans"])


def test_what_cannot_be_planned_names_the_field_and_what_works(client: TestClient) -> None:
    wrong: list[tuple[dict[str, object], str, str]] = [
        ({"tp_degree": 3}, "/tp_degree", "these work: 1, 2, 4, 8, 16, 32"),
        ({"zero_stage": 4}, "/zero_stage", "none of 0, 1, 2, 3"),
        ({"model": "llama-2-7"}, "/model", "did you mean llama-2-7b"),
    ]
    for fields, pointer, says in wrong:
        body = {"model": "llama-2-7b", "tp_degree": 1, **fields}
        answer = client.post("/v1/memory", json=body)
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["pointer"] == pointer
        assert says in error["detail"]
