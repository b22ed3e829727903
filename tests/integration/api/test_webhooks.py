"""Webhooks over HTTP."""

import pytest
from fastapi.testclient import TestClient

from service.api.examples.findings import WEBHOOKS

ASKED: dict[str, object] = dict(WEBHOOKS["signed"].get("value") or {})
OPS = "/v1/webhooks/ops"


def test_a_webhook_from_its_beginning_to_its_end(client: TestClient) -> None:
    created = client.post("/v1/webhooks", json=ASKED)
    assert created.status_code == 201, created.text
    report = created.json()
    assert created.headers["Location"] == f"/v1/webhooks/{report['id']}"
    assert report.pop("secret").startswith("whsec_")
    assert report.pop("warning").startswith("ops.example cannot be resolved here and now")
    assert report["events"] == ["confirmed", "recovered"]
    assert client.get("/v1/webhooks").json()["items"] == [report]
    assert client.get(OPS).json() == report
    assert client.post("/v1/webhooks", json=ASKED).status_code == 409

    queued = client.post(f"{OPS}/test")
    assert queued.status_code == 202, queued.text
    assert client.get(f"{OPS}/deliveries").json()["items"] == [queued.json()]
    assert client.delete(OPS).status_code == 204
    assert client.get(OPS).status_code == 404


def test_a_url_that_is_a_secret_is_not_shown(client: TestClient) -> None:
    value = dict(WEBHOOKS["slack"].get("value") or {})
    report = client.post("/v1/webhooks", json=value).json()
    assert (report["target"], report["secret"]) == ("https://hooks.slack.example/…", None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"target": "ftp://a.example/"}, "begins with https://"),
        ({"target": "https:///x"}, "names a host"),
        ({"target": "https://a.example:99999/"}, "port cannot be read"),
        ({"target": "https://me:pw@a.example/"}, "no user, password or fragment"),
        ({"target": "https://a.example/\u00e4"}, "pattern"),
        ({"target": "https://10.0.0.1/"}, "10.0.0.1, which is not public"),
        ({"target": "https://localhost/"}, "which is not public"),
        ({"target": "http://93.184.215.14/"}, "only https on port 443"),
        ({"kind": "email"}, "one address"),
        ({"kind": "email", "target": "a@b\nBcc: c@d"}, "pattern"),
        ({"kind": "email", "target": "a@b"}, "TPSWEEP_SMTP_URL"),
        ({"events": []}, "at least 1"),
        ({"events": ["x"]}, "suspect"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, changes: dict[str, object], says: str) -> None:
    answer = client.post("/v1/webhooks", json={**ASKED, **changes})
    assert answer.status_code == 422
    assert says in answer.text
