"""What a side of a comparison is, written as text and as an object."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from service.reports.selection import Selection


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("release-1", {"either": ("release-1",)}),
        ("sweep:a,b", {"sweep": ("a", "b")}),
        ("baseline:good", {"baseline": ("good",)}),
        ("tag:commit=a=b tag:night=1", {"tag": {"commit": "a=b", "night": "1"}}),
        (
            "hardware:AMD EPYC 9654, node:n1,n2",
            {"hardware": ("AMD EPYC 9654",), "node": ("n1", "n2")},
        ),
        ("hardware:h1:00", {"hardware": ("h1:00",)}),
        ("version:nccl=2.27.3", {"version": {"nccl": "2.27.3"}}),
        ("tp_degree:1,2 dtype:bfloat16", {"tp_degree": (1, 2), "dtype": ("bfloat16",)}),
        ("good node:n1", {"either": ("good",), "node": ("n1",)}),
    ],
)
def test_text_and_object_are_the_same_selection(text: str, expected: dict[str, object]) -> None:
    found = Selection.model_validate(text)
    assert found == Selection.model_validate(expected)
    assert Selection.model_validate(found.label) == found


def test_a_range_of_days_holds_the_whole_of_its_last_day() -> None:
    whole = Selection.model_validate("since:2026-11-01..2026-11-15")
    assert whole.since == datetime(2026, 11, 1, tzinfo=UTC)
    assert whole.until == datetime(2026, 11, 16, tzinfo=UTC)
    exact = Selection.model_validate("since:2026-11-01T02:00:00+01:00 until:2026-11-01T03:00:00Z")
    assert exact.since == datetime(2026, 11, 1, 1, tzinfo=UTC)
    assert exact.until == datetime(2026, 11, 1, 3, tzinfo=UTC)
    assert Selection.model_validate(whole.label) == whole


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nod:x", "did you mean node:"),
        ("since:2026-11-01 nod:x", "did you mean node:"),
        ("x:y", "there are sweep, baseline, tag"),
        ("tag:commit", "tag:commit=…"),
        ("tp_degree:two", "valid integer"),
        ("dtype:float8", "'float32'"),
        ("since:2026-13-01", "no such day"),
        ("until:9999-12-31", "until\n.*no day comes after it; leave it out"),
        ("since:0001-01-01T00:00:00+14:00", "since\n.*outside the years 1 to 9999"),
        ("until:9999-12-31T23:59:59-01:00", "until\n.*outside the years 1 to 9999"),
        ("since:2026-11-01T00:00:00", "timezone"),
        ("since:2026-11-02..2026-11-01", "until is not after since"),
        ("since:2026-11-01 since:2026-11-02", "since is named 2 times"),
        ("version:torhc=2", "'torch'"),
        ({}, "nothing is selected"),
        ({"node": []}, "At least one value"),
        ({"nodes": ["x"]}, "Extra inputs"),
    ],
)
def test_what_is_wrong_is_said(given: object, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Selection.model_validate(given)
