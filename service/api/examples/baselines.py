"""What is held against what."""

from fastapi.openapi.models import Example

BASELINES: dict[str, Example] = {
    "release": Example(
        summary="What the next nights are held against",
        value={
            "name": "release-1.4",
            "sweep": "01990000-0000-7000-8000-000000000001",
            "note": "as it was shipped",
            "expires_at": "2099-01-01T00:00:00Z",
        },
    )
}

BASELINE_CHANGES: dict[str, Example] = {
    "renamed": Example(summary="Another name, and no end", value={"name": "v1", "expires_at": None})
}

COMPARISONS: dict[str, Example] = {
    "commits": Example(
        summary="Two commits, on one kind of hardware",
        value={
            "baseline": {"tag": {"commit": "abc123"}, "hardware": "H100"},
            "candidate": {"tag": {"commit": "def456"}, "hardware": "H100"},
        },
    ),
    "hardware": Example(
        summary="This month's nights on two kinds of hardware",
        value={
            "baseline": {"hardware": "A100", "since": "2026-11-01"},
            "candidate": {"hardware": "H100", "since": "2026-11-01"},
            "allow_different": ["hardware"],
        },
    ),
}
