"""Signatures of Standard Webhooks (symmetric, v1): HMAC-SHA256 over id, time and the bytes sent."""

import base64
import hmac
from datetime import datetime

from service.store.webhooks import SECRET_PREFIX


def signed_headers(secret: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return what goes with a body so that its receiver can tell who sent it, and when."""
    seconds = str(int(at.timestamp()))
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    told = b".".join((message_id.encode(), seconds.encode(), body))
    signature = base64.b64encode(hmac.digest(key, told, "sha256")).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{signature}",
    }
