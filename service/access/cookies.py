"""A browser's session: a signed cookie that names a token, never its secret.

The token is looked up at every request, so that revoking it ends its sessions at once. The form
token stands in every form: a page of another site can send the cookie, but not read a form.
"""

import contextlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from itsdangerous import BadSignature, URLSafeTimedSerializer

from service.settings import Settings
from service.telemetry import get_logger

NAME: Final = "tpsweep_session"
LASTS_S: Final = 7 * 86_400
KEY_FILE: Final = "session.key"

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """What the cookie says."""

    token_id: str
    """Empty where nobody signed in, as on loopback."""
    nonce: str

    @classmethod
    def begin(cls, token_id: str = "") -> "BrowserSession":
        """Open a new one; signing in always does, so that an old cookie is worth nothing more."""
        return cls(token_id, secrets.token_urlsafe(16))


class Cookies:
    """Signs and reads them; every API process needs the same key."""

    def __init__(self, key: str, *, lasts_s: int = LASTS_S) -> None:
        self._key = key.encode()
        self._lasts_s = lasts_s
        self._serializer = URLSafeTimedSerializer(key, salt="tpsweep.session")

    def sign(self, session: BrowserSession) -> str:
        """The cookie's value."""
        return self._serializer.dumps([session.token_id, session.nonce])

    def read(self, cookie: str | None) -> BrowserSession | None:
        """What a cookie says; None where we did not sign it or it is too old."""
        try:
            token_id, nonce = self._serializer.loads(cookie or "", max_age=self._lasts_s)
        except (BadSignature, TypeError, ValueError):
            return None
        return BrowserSession(str(token_id), str(nonce))

    def form_token(self, session: BrowserSession) -> str:
        """What every form of this session carries."""
        return hmac.digest(self._key, f"form {session.nonce}".encode(), "sha256").hex()

    def is_form_token(self, session: BrowserSession, given: str) -> bool:
        """Whether a form was ours."""
        return hmac.compare_digest(self.form_token(session).encode(), given.encode())


def key_of(settings: Settings) -> str:
    """The setting, else a key that is made once and kept in the home."""
    given = settings.session_key.get_secret_value()
    if given:
        return given
    path = settings.home / KEY_FILE
    try:
        return _kept(path)
    except OSError as error:
        log.warning("session_key_not_kept", path=str(path), error=str(error))
        return secrets.token_urlsafe(32)


def _kept(path: Path) -> str:
    """Make it whole before it has its name: two processes may start together."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(32), encoding="ascii")
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text(encoding="ascii")
