"""What is wrong with a request is said in one form, whatever went wrong."""

import io
import json
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from service.api.app import create_app
from service.settings import Settings
from service.store.engine import Sessions
from tests.integration.api.conftest import BASE_URL
from tests.integration.api.measuring import BODY

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def database(sqlite_url: str) -> str:
    """None of this is decided by the database."""
    return sqlite_url


def _problem(answer: Response, *, status: int, code: str) -> dict[str, object]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, object] = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["title"]
    assert problem["detail"]
    return problem


def _pointers(answer: Response) -> dict[str, str]:
    return {one["pointer"]: one["detail"] for one in answer.json()["errors"]}


def test_a_path_that_is_not_there_is_404(client: TestClient) -> None:
    for path in ("/nowhere", "/v1", "/v1/sweeps/", "/v2/sweeps", "/v1/sweeps/a/b"):
        problem = _problem(client.get(path), status=404, code="not_found")
        assert problem["instance"] == path


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/v1/sweeps", "GET, POST"), ("/", "GET"), ("/findings/x", "GET, POST"), ("/compare", "GET")],
)
def test_a_method_that_is_not_there_is_405_and_names_those_that_are(
    path: str, allowed: str, client: TestClient
) -> None:
    answer = client.put(path)
    problem = _problem(answer, status=405, code="method_not_allowed")
    assert answer.headers["allow"] == allowed
    assert problem["detail"] == f"{path} takes {allowed}, not PUT"


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]
)
def test_a_body_of_another_type_is_415(content_type: str, client: TestClient) -> None:
    answer = client.post(
        "/v1/sweeps", content=json.dumps(BODY), headers={"Content-Type": content_type}
    )
    _problem(answer, status=415, code="unsupported_media_type")


def test_a_type_with_its_charset_is_taken(client: TestClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = client.post("/v1/sweeps/preview", content=json.dumps(BODY), headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"batch": NaN}',
        b'{"batch": 1e999}',
        b'{"batch": 99999999999999999999}',
        b"\xff",
        b"[" * 100_000,
        b'{"name": "\\u0000"}',
        b'{"batch": 1, "batch": 2}',
    ],
)
def test_what_is_no_json_is_400(body: bytes, client: TestClient) -> None:
    _problem(
        client.post("/v1/sweeps", content=body, headers=JSON), status=400, code="malformed_json"
    )


def test_a_body_over_the_limit_is_413(client: TestClient) -> None:
    def stream() -> Iterator[bytes]:
        for _ in range(64):
            yield b" " * (1 << 16)

    answer = client.post("/v1/sweeps", content=stream(), headers=JSON)
    _problem(answer, status=413, code="body_too_large")


def test_a_body_at_the_limit_is_taken(client: TestClient) -> None:
    body = json.dumps(BODY).encode().ljust(1 << 20)
    assert client.post("/v1/sweeps", content=body, headers=JSON).status_code == 202
    answer = client.post("/v1/sweeps", content=body + b" ", headers=JSON)
    _problem(answer, status=413, code="body_too_large")


def test_no_body_is_422(client: TestClient) -> None:
    _problem(client.post("/v1/sweeps"), status=422, code="invalid_request")


@pytest.mark.parametrize(
    ("change", "pointer", "detail"),
    [
        ({"tp_degree": [1, 65]}, "/tp_degree/1", "65"),
        ({"tp_degree": "two"}, "/tp_degree/0", "'two'"),
        ({"batch": []}, "/batch", ""),
        ({"batch": [-1]}, "/batch/0", "-1"),
        ({"batch": [1 << 40]}, "/batch/0", str(1 << 40)),
        ({"batch": [1, 1]}, "/batch", "1 is named twice"),
        ({"pair": {"axis": "overlap"}}, "/pair/values", "it works for none, backward, chunked"),
        ({"pair": {"axis": "batch"}}, "/pair/axis", "cannot differ in batch; a pair works for"),
        (
            {"pair": {"axis": "dtype", "values": ["float32", "bfloat16"]}, "dtype": "float16"},
            "/pair",
            "gives it as float16 too",
        ),
        ({"models": "gpt-5"}, "/models/0", "gpt-5"),
        ({"models": [{"hidden_size": 0}]}, "/models/0/hidden_size", "0"),
        ({"blocks": "moe"}, "/blocks/0", "'moe'"),
        ({"sampling": {"max_time_s": -1}}, "/sampling/max_time_s", "-1"),
        ({"sampling": {"stop~a/b": 1}}, "/sampling/stop~0a~1b", "1"),
        ({"replicates": 0}, "/replicates", "0"),
        ({"nodes": 3}, "/nodes", "3"),
    ],
)
def test_a_wrong_field_is_named_with_its_value(
    change: dict[str, object], pointer: str, detail: str, client: TestClient
) -> None:
    for path in ("/v1/sweeps", "/v1/sweeps/preview"):
        answer = client.post(path, json={**BODY, **change})
        _problem(answer, status=422, code="invalid_request")
        assert detail in _pointers(answer)[pointer]
    assert client.get("/v1/sweeps").json()["items"] == []


def test_every_wrong_field_is_named_at_once(client: TestClient) -> None:
    answer = client.post("/v1/sweeps", json={"models": "gpt2", "batch": 0, "x": 1})
    assert set(_pointers(answer)) == {"/blocks", "/tp_degree", "/batch/0", "/x"}


def test_a_thousand_wrong_values_are_answered_briefly(client: TestClient) -> None:
    answer = client.post("/v1/sweeps", json={**BODY, "batch": ["x" * 1000] * 900})
    _problem(answer, status=422, code="invalid_request")
    assert len(answer.content) < 20_000


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("/v1/sweeps?limi=1", "?limi"),
        ("/v1/sweeps?limit=0", "?limit"),
        ("/v1/sweeps?limit=201", "?limit"),
        ("/v1/sweeps?limit=9999999999999999999999", "?limit"),
        ("/v1/sweeps?state=done", "?state"),
        ("/v1/sweeps?tag=commit", "?tag"),
        ("/v1/sweeps?since=yesterday", "?since"),
        ("/v1/sweeps?since=2026-01-01T00:00:00", "?since"),
        ("/v1/sweeps?since=0001-01-01T00:00:00%2B14:00", "?since"),
        ("/v1/sweeps?tag=a%00=b", "?tag"),
        ("/v1/results?batch=1,x", "?batch.1"),
        ("/v1/results?tp_degree=65", "?tp_degree.0"),
        ("/v1/results/x?include=everything", "?include.0"),
        ("/v1/compare?baseline=a&candidate=b&tolerance=nan", "?tolerance"),
        ("/v1/models?limit=1", "?limit"),
        ("/livez?verbose=1", "?verbose"),
    ],
)
def test_a_wrong_parameter_is_named(path: str, pointer: str, client: TestClient) -> None:
    answer = client.get(path)
    _problem(answer, status=422, code="invalid_request")
    assert pointer in _pointers(answer)


@pytest.mark.parametrize("key", ["", "x" * 201, "with space"])
def test_an_idempotency_key_is_a_short_word(key: str, client: TestClient) -> None:
    answer = client.post("/v1/sweeps", json=BODY, headers={"Idempotency-Key": key})
    _problem(answer, status=422, code="invalid_request")
    assert list(_pointers(answer)) == ["header:Idempotency-Key"]


def test_the_longest_idempotency_key_is_kept_whole(client: TestClient) -> None:
    first, again, other = (
        client.post("/v1/sweeps", json=BODY, headers={"Idempotency-Key": key})
        for key in ("x" * 200, "x" * 200, "x" * 199)
    )
    assert [answer.status_code for answer in (first, again, other)] == [202, 202, 202]
    assert first.json()["id"] == again.json()["id"] != other.json()["id"]


@pytest.mark.parametrize("seq", ["-1", "x", "99999999999999999999"])
def test_the_last_event_is_a_number(seq: str, client: TestClient) -> None:
    answer = client.get("/v1/sweeps/x/events", headers={"Last-Event-ID": seq})
    _problem(answer, status=422, code="invalid_request")


def test_a_request_keeps_the_id_it_came_with(client: TestClient) -> None:
    answer = client.get("/nothing", headers={"X-Request-Id": "night-7"})
    assert answer.json()["request_id"] == "night-7"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "<script>"])
def test_an_id_that_could_forge_something_is_replaced(given: str, client: TestClient) -> None:
    answer = client.get("/livez", headers={"X-Request-Id": given})
    assert len(answer.headers["x-request-id"]) == 32


def test_a_failure_tells_its_id_and_nothing_else(
    settings: Settings, sessions: Sessions, log: io.StringIO
) -> None:
    app: FastAPI = create_app(settings, sessions)
    app.state.service = None
    with TestClient(app, base_url=BASE_URL, raise_server_exceptions=False) as broken:
        answer = broken.get("/v1/sweeps")
        app.state.service = create_app(settings, sessions).state.service
    problem = _problem(answer, status=500, code="internal_error")
    assert str(problem["request_id"]) in str(problem["detail"])
    assert "NoneType" not in answer.text
    logged = [json.loads(line) for line in log.getvalue().splitlines()]
    (failure,) = [line for line in logged if line["event"] == "request_failed"]
    assert failure["request_id"] == problem["request_id"]
    assert "NoneType" in failure["exception"]


def test_every_answer_has_safe_headers(client: TestClient) -> None:
    for answer in (client.get("/livez"), client.get("/nothing"), client.get("/docs")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"
