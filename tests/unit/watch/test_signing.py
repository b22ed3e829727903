import base64
import hashlib
import hmac
from datetime import UTC, datetime

from service.store.webhooks import new_secret
from service.watch.signing import signed_headers

AT = datetime.fromtimestamp(1614265330, UTC)


def test_the_published_example_has_the_published_signature() -> None:
    """From the Standard Webhooks documentation and its reference libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - public
    body = b'{"test": 2432232314}'
    assert signed_headers(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", AT, body) == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_new_secret_signs_id_time_and_body() -> None:
    secret = new_secret()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    assert len(key) == 32
    headers = signed_headers(secret, "id", AT, b"body")
    expected = hmac.new(key, b"id.1614265330.body", hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(expected).decode()}"
