"""Whatever is sent, the service answers, and with a problem document where it refuses."""

import json
import re
from urllib.parse import urlencode

from fastapi.testclient import TestClient
from httpx2 import Response
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.app import ROUTERS
from service.api.results import ResultParameters
from service.api.route import routes_of
from tests.integration.api.measuring import BODY
from workers.contract.sweep import SweepSpec

QUICK = settings(
    max_examples=150,
    suppress_health_check=list(HealthCheck),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**30])
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["gpt2", "auto", "train", "mlp", "\x00", "\ud800", "x" * 300]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
NUMBERS = ("hidden_size", "intermediate_size", "num_attention_heads", "model_type")
SHAPES = st.fixed_dictionaries({}, optional=dict.fromkeys(NUMBERS, VALUES))
CHANGES = st.dictionaries(
    st.sampled_from([*SweepSpec.model_fields, "unknown"]), VALUES, max_size=2
) | st.fixed_dictionaries({"models": SHAPES | st.lists(SHAPES, max_size=3)})
WORDS = st.sampled_from(["", "\x00", "nan", "1,2", "a=b", "=", "eyJ9", "queued", "mlp"])
MOMENTS = st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")
PARAMETERS = st.dictionaries(
    st.sampled_from((*ResultParameters.model_fields, "state", "include", "baseline", "x")),
    WORDS | st.text(max_size=20) | st.integers().map(str) | MOMENTS,
    max_size=2,
)
PATHS = st.sampled_from(
    ("/{}", *(re.sub(r"{\w+}", "{}", route.path) for route in routes_of(ROUTERS)))
).filter(lambda path: not path.endswith("/events"))


def _check(answer: Response) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"]


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def test_any_sweep_is_taken_or_refused(client: TestClient) -> None:
    @QUICK
    @given(changes=CHANGES, path=st.sampled_from(["/v1/sweeps", "/v1/sweeps/preview"]))
    def send(changes: dict[str, object], path: str) -> None:
        body = _encoded({**BODY, **changes})
        _check(client.post(path, content=body, headers={"Content-Type": "application/json"}))

    send()


def test_any_body_is_taken_or_refused(client: TestClient) -> None:
    @QUICK
    @given(
        body=VALUES.map(_encoded) | st.binary(max_size=50),
        path=st.sampled_from(["/v1/sweeps", "/v1/tokens", "/v1/sweeps/x/retry"]),
        content_type=st.sampled_from(["application/json", "text/plain", "", "a/b;c=\xff"]),
    )
    def send(body: bytes, path: str, content_type: str) -> None:
        headers = {b"Content-Type": content_type.encode("latin-1")}
        _check(client.post(path, content=body, headers=headers))

    send()


def test_any_question_is_answered_or_refused(client: TestClient) -> None:
    @QUICK
    @given(path=PATHS, parameters=PARAMETERS, name=st.text(min_size=1, max_size=20))
    def ask(path: str, parameters: dict[str, str], name: str) -> None:
        clean = {key: value.encode("utf-8", "replace") for key, value in parameters.items()}
        part = urlencode({"": name.encode("utf-8", "replace")})[1:].replace("+", "%20")
        _check(client.get(f"{path.format(part or 'x')}?{urlencode(clean)}"))

    ask()


def test_any_header_is_taken_or_refused(client: TestClient) -> None:
    names = ["Idempotency-Key", "Last-Event-ID", "X-Request-Id", "Origin", "Host", "Authorization"]

    @QUICK
    @given(headers=st.dictionaries(st.sampled_from(names), st.binary(max_size=40), max_size=3))
    def send(headers: dict[str, bytes]) -> None:
        given_headers = {name.encode(): value for name, value in headers.items()}
        _check(client.post("/v1/sweeps", json=BODY, headers=given_headers))
        _check(client.get("/v1/sweeps/x/events", headers=given_headers))

    send()
