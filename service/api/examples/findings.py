"""What people say of findings, and where findings are told."""

from fastapi.openapi.models import Example

FINDING_NOTES: dict[str, Example] = {
    "ticket": Example(summary="Known, and where", value={"reason": "PERF-12: the fan of host05"})
}

DISMISSALS: dict[str, Example] = {
    "backup": Example(
        summary="Nothing was wrong with what is measured",
        value={"dismissal": "false_positive", "reason": "a backup ran that night"},
    )
}

WEBHOOKS: dict[str, Example] = {
    "signed": Example(
        summary="Confirmed findings and their end, signed as Standard Webhooks says",
        value={"name": "ops", "target": "https://ops.example/hooks/tpsweep"},
    ),
    "slack": Example(
        summary="What one schedule finds, to a channel",
        value={
            "name": "perf-channel",
            "kind": "slack",
            "target": "https://hooks.slack.example/services/T0/B0/x",
            "events": ["suspect", "confirmed", "recovered"],
            "policy": "nightly",
        },
    ),
    "mail": Example(
        summary="By e-mail",
        value={"name": "alice", "kind": "email", "target": "alice@example.org"},
    ),
}
