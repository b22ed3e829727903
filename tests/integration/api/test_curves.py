"""Files of nccl-tests over HTTP: in, listed, out again."""

import pytest
from fastapi.testclient import TestClient

from service.api.examples.foreign_files import NCCL_TESTS_JSON, NCCL_TESTS_TEXT
from tests.integration.api.importing import P5, TEXT, bring


def test_a_file_goes_in_and_comes_out_in_its_own_layout(client: TestClient) -> None:
    answer = bring(client, P5.read_bytes(), source=P5.name)
    assert answer.status_code == 200, answer.text
    (curve,) = answer.json()["curves"]
    assert (curve["op"], curve["num_ranks"], len(curve["rows"])) == ("all_reduce", 8, 32)
    last = curve["rows"][-1]
    assert last["message_bytes"] == 17179869184
    assert last["in_place"]["busbw_gb_per_s"] == pytest.approx(483.35, abs=0.01)
    listed = client.get("/v1/curves", params={"hardware": "h100-sxm"}).json()["items"]
    assert listed == [curve]
    text = client.get("/v1/curves", params={"format": "nccl-tests"})
    assert text.headers["content-type"].startswith("text/plain")
    again = bring(client, text.content)
    assert (again.json()["num_taken"], again.json()["num_new_curves"]) == (32, 0)


def test_the_examples_of_both_forms_are_taken(client: TestClient) -> None:
    first = bring(client, NCCL_TESTS_TEXT)
    second = client.post(
        "/v1/results/import", json=NCCL_TESTS_JSON, params={"hardware": "a", "num_ranks": 8}
    )
    assert [one.json()["num_taken"] for one in (first, second)] == [2, 1]


def test_what_is_left_out_is_named(client: TestClient) -> None:
    lines = P5.read_text().split("\n")
    at = next(index for index, line in enumerate(lines) if "239.38" in line)
    lines[at] = lines[at].replace("239.38", "339.38")
    lines[20] = lines[20][:60]
    report = bring(client, "\n".join(lines)).json()
    assert [one["line"] for one in report["skipped"]] == [21, at + 1]
    assert "broken row of size 524288" in report["skipped"][0]["reason"]
    assert "algbw 339.38 is not size over time" in report["skipped"][1]["reason"]
    assert any("footer" in one for one in report["warnings"])


def test_a_file_without_a_good_row_is_refused_line_by_line(client: TestClient) -> None:
    answer = bring(client, NCCL_TESTS_TEXT.replace("36.71", "99.00").replace("48.27", "99.00"))
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_file")
    assert [one["pointer"] for one in answer.json()["errors"]] == ["line 3", "line 4"]
    assert bring(client, "hello").json()["code"] == "unreadable_file"


@pytest.mark.parametrize(
    ("parameters", "pointer"),
    [
        ({"hardware": ""}, "?hardware"),
        ({"op": "all_to_all"}, "?op"),
        ({"num_ranks": 0}, "?num_ranks"),
        ({"ranks": 8}, "?ranks"),
        ({"hardware": "a\nb"}, "?hardware"),
    ],
)
def test_a_wrong_parameter_is_named(
    client: TestClient, parameters: dict[str, str | int], pointer: str
) -> None:
    answer = bring(client, NCCL_TESTS_TEXT, **parameters)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_other_types_empty_bodies_and_large_ones_are_refused(client: TestClient) -> None:
    where = "/v1/results/import?hardware=a"
    form = client.post(where, content="x", headers={"Content-Type": "text/html"})
    assert (form.status_code, form.json()["code"]) == (415, "unsupported_media_type")
    assert client.post(where, content=b" ", headers=TEXT).status_code == 422
    large = client.post(where, content=b"x" * (2 << 20), headers=TEXT)
    assert (large.status_code, large.json()["code"]) == (413, "body_too_large")
