"""Who may do what."""

from fastapi.openapi.models import Example

TOKENS: dict[str, Example] = {
    "nightly": Example(
        summary="A job that submits and reads",
        value={
            "name": "nightly",
            "scopes": ["read", "submit"],
            "expires_at": "2099-01-01T00:00:00Z",
        },
    )
}
