from pydantic import JsonValue

from service.cli.wire.base import Wire


class Claim(Wire):
    """One claim of the articles."""

    number: int
    source: str
    claim: str
    article: str
    ours: str
    verdict: str
    measured: str | None = None
    command: str
    sweep: dict[str, JsonValue] | None = None
