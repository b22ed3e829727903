import pytest
from fastapi.testclient import TestClient

from service.api.examples.foreign_files import TOPOLOGY

WHERE = "/v1/topology"


@pytest.fixture
def database(sqlite_url: str) -> str:
    """None of this is decided by the database."""
    return sqlite_url


def test_a_matrix_is_explained_as_text_and_as_json(client: TestClient) -> None:
    as_text = client.post(WHERE, content=TOPOLOGY, headers={"Content-Type": "text/plain"})
    as_json = client.post(WHERE, json={"text": TOPOLOGY})
    assert as_text.status_code == 200
    assert as_text.json() == as_json.json()
    assert as_text.json()["tp_degrees"][1]["sets"] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        ({"text": "no matrix"}, 422, "unreadable_file", "/text"),
        ({"text": 3}, 422, "invalid_request", "/text"),
        ({}, 422, "invalid_request", "/text"),
        ({"text": "a", "x": 1}, 422, "invalid_request", "/x"),
    ],
)
def test_what_is_wrong_is_named(
    client: TestClient, body: dict[str, object], status: int, code: str, pointer: str
) -> None:
    answer = client.post(WHERE, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["errors"][0]["pointer"] == pointer
