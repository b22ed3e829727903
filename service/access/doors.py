"""Who may knock: anyone from this machine where the service listens on loopback, else tokens.

Open access has two doors that a browser could come through from a foreign page: a name that
resolves to 127.0.0.1 (DNS rebinding; the Host header tells) and a form or fetch from another
origin (the Origin header tells). Behind a proxy everybody seems local, so forwarded requests need
`TPSWEEP_REQUIRE_TOKENS=true`.
"""

import ipaddress
from enum import StrEnum
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from service.errors import ForbiddenError
from service.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


class Access(StrEnum):
    """How callers are told apart."""

    OPEN = "open"
    TOKEN = "token"  # noqa: S105 - the word, not one of them


def access_of(settings: Settings) -> Access:
    """Open only where nobody but this machine can connect, and nobody asked for more."""
    if is_loopback(settings.host) and not settings.require_tokens:
        return Access.OPEN
    return Access.TOKEN


def is_loopback(host: str) -> bool:
    """Whether the name or address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_foreign_pages(method: str, headers: Headers) -> None:
    """Raise ForbiddenError for what open access must not serve, see the top of the file."""
    host = headers.get("host", "")
    if not is_loopback(_hostname(f"//{host}")):
        raise ForbiddenError(f"open access is for loopback names, not for Host: {host[:200]}")
    if any(name in headers for name in FORWARDED):
        raise ForbiddenError(
            "open access does not serve a proxy; set TPSWEEP_REQUIRE_TOKENS=true and use tokens"
        )
    if method not in SAFE_METHODS:
        _refuse_other_origins(host, headers)


def _refuse_other_origins(host: str, headers: Headers) -> None:
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise ForbiddenError(f"a page of {origin[:200]} may not change anything here")
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        raise ForbiddenError("a page of another site may not change anything here")


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
